//! What a client of the shell and the seat says and hears: windows, popups, panels, keyboard, pointer, touch, transfers.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use transom::domain::geometry::Rect;
use wayland_client::backend::ObjectId;
use wayland_client::protocol::{
    wl_data_device, wl_data_device_manager, wl_data_offer, wl_data_source, wl_keyboard, wl_output, wl_pointer, wl_seat,
    wl_surface, wl_touch,
};
use wayland_client::{Connection, Dispatch, Proxy, QueueHandle, delegate_noop, event_created_child};
use wayland_protocols::wp::cursor_shape::v1::client::{wp_cursor_shape_device_v1, wp_cursor_shape_manager_v1};
use wayland_protocols::wp::idle_inhibit::zv1::client::{zwp_idle_inhibit_manager_v1, zwp_idle_inhibitor_v1};
use wayland_protocols::wp::pointer_constraints::zv1::client::{
    zwp_confined_pointer_v1, zwp_locked_pointer_v1, zwp_pointer_constraints_v1,
};
use wayland_protocols::wp::primary_selection::zv1::client::{
    zwp_primary_selection_device_manager_v1, zwp_primary_selection_device_v1, zwp_primary_selection_offer_v1,
    zwp_primary_selection_source_v1,
};
use wayland_protocols::wp::relative_pointer::zv1::client::{zwp_relative_pointer_manager_v1, zwp_relative_pointer_v1};
use wayland_protocols::xdg::activation::v1::client::{xdg_activation_token_v1, xdg_activation_v1};
use wayland_protocols::xdg::decoration::zv1::client::{zxdg_decoration_manager_v1, zxdg_toplevel_decoration_v1};
use wayland_protocols::xdg::shell::client::{xdg_popup, xdg_positioner, xdg_surface, xdg_toplevel, xdg_wm_base};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::{
    zwp_virtual_keyboard_manager_v1, zwp_virtual_keyboard_v1,
};
use wayland_protocols_wlr::layer_shell::v1::client::{zwlr_layer_shell_v1, zwlr_layer_surface_v1};
use wayland_protocols_wlr::virtual_pointer::v1::client::{zwlr_virtual_pointer_manager_v1, zwlr_virtual_pointer_v1};

use super::client::{Client, Events, Peer};

/// Something that the seat told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    KeyEnter(ObjectId),
    KeyLeave(ObjectId),
    Key(u32, bool),
    Modifiers(u32),
    Enter(ObjectId, f64, f64),
    Leave(ObjectId),
    Motion(f64, f64),
    Button(u32, bool),
    Axis(f64, f64),
    V120(i32, i32),
    Relative(f64, f64),
    TouchDown(ObjectId, i32, f64, f64),
    TouchMotion(i32, f64, f64),
    TouchUp(i32),
    TouchCancel,
    Locked,
    Unlocked,
    Confined,
    Unconfined,
}

/// A window as its client was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) size: (i32, i32),
    pub(crate) states: Vec<u32>,
    pub(crate) bounds: (i32, i32),
    pub(crate) capabilities: Vec<u32>,
    pub(crate) closed: bool,
    pub(crate) configures: usize,
}

impl Told {
    pub(crate) fn is(&self, state: xdg_toplevel::State) -> bool {
        self.states.contains(&(state as u32))
    }
}

/// A popup as its client was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PopupTold {
    pub(crate) place: Rect,
    pub(crate) done: bool,
    pub(crate) repositioned: Vec<u32>,
}

/// A panel as its client was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PanelTold {
    pub(crate) serial: u32,
    pub(crate) size: (u32, u32),
    pub(crate) closed: bool,
}

/// Everything of the shell and the seat that a test may ask about.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// xdg_surface.configure: the last serial not acknowledged.
    pub(crate) serials: HashMap<ObjectId, u32>,
    pub(crate) windows: HashMap<ObjectId, Told>,
    pub(crate) popups: HashMap<ObjectId, PopupTold>,
    pub(crate) panels: HashMap<ObjectId, PanelTold>,
    pub(crate) input: Vec<Input>,
    /// Of the last press of a key, a button or a finger.
    pub(crate) press_serial: u32,
    /// Of the last wl_pointer.enter.
    pub(crate) enter_serial: u32,
    pub(crate) repeat: Option<(i32, i32)>,
    pub(crate) keymaps: usize,
    /// The keyboard layout in effect.
    pub(crate) group: u32,
    pub(crate) capabilities: u32,
    /// The clipboard, the primary selection and what is dragged here, as offered.
    pub(crate) offer: Option<wl_data_offer::WlDataOffer>,
    pub(crate) primary: Option<zwp_primary_selection_offer_v1::ZwpPrimarySelectionOfferV1>,
    pub(crate) dragged: Option<wl_data_offer::WlDataOffer>,
    pub(crate) drag_serial: u32,
    pub(crate) mimes: Vec<String>,
    pub(crate) dropped: bool,
    pub(crate) drag_left: usize,
    /// What sources were asked to send.
    pub(crate) sends: Vec<(String, OwnedFd)>,
    pub(crate) cancelled: usize,
    pub(crate) finished: usize,
    pub(crate) token: Option<String>,
    pub(crate) decoration: Option<u32>,
    /// xdg_wm_base.ping is answered unless this is set.
    pub(crate) hung: bool,
}

/// A window of a client.
pub(crate) struct Window {
    pub(crate) surface: wl_surface::WlSurface,
    pub(crate) xdg: xdg_surface::XdgSurface,
    pub(crate) toplevel: xdg_toplevel::XdgToplevel,
}

impl Window {
    /// A window that has said nothing yet.
    pub(crate) fn new(client: &Client) -> Self {
        let surface = client.surface();
        let xdg = client.bind::<xdg_wm_base::XdgWmBase>().get_xdg_surface(&surface, &client.handle, ());
        let toplevel = xdg.get_toplevel(&client.handle, ());
        Self { surface, xdg, toplevel }
    }

    /// A window of this size on screen.
    pub(crate) fn mapped(host: &mut impl Peer, client: &mut Client, w: i32, h: i32) -> Self {
        let window = Self::new(client);
        window.map(host, client, w, h);
        window.answer(host, client, w, h); // it has the focus now
        window
    }

    /// From its initial surface commit to its first content.
    pub(crate) fn map(&self, host: &mut impl Peer, client: &mut Client, w: i32, h: i32) {
        self.surface.commit();
        client.roundtrip(host);
        self.answer(host, client, w, h);
    }

    /// Acknowledges the last configure, if it has not been, and shows content of this size.
    pub(crate) fn answer(&self, host: &mut impl Peer, client: &mut Client, w: i32, h: i32) {
        client.roundtrip(host);
        if let Some(serial) = client.events.desk.serials.remove(&self.xdg.id()) {
            self.xdg.ack_configure(serial);
        }
        self.show(client, w, h);
        client.roundtrip(host);
    }

    /// Shows content of this size.
    pub(crate) fn show(&self, client: &Client, w: i32, h: i32) {
        self.surface.attach(Some(&client.buffer(w, h, 0xff00_8080)), 0, 0);
        self.surface.commit();
    }

    pub(crate) fn told(&self, client: &Client) -> Told {
        client.events.desk.windows.get(&self.toplevel.id()).cloned().unwrap_or_default()
    }
}

/// The seat of a client, with all its devices.
pub(crate) struct Seat {
    pub(crate) seat: wl_seat::WlSeat,
    pub(crate) keyboard: wl_keyboard::WlKeyboard,
    pub(crate) pointer: wl_pointer::WlPointer,
    pub(crate) touch: wl_touch::WlTouch,
}

impl Seat {
    pub(crate) fn new(client: &Client) -> Self {
        let seat: wl_seat::WlSeat = client.bind();
        let handle = &client.handle;
        let (keyboard, pointer, touch) =
            (seat.get_keyboard(handle, ()), seat.get_pointer(handle, ()), seat.get_touch(handle, ()));
        Self { seat, keyboard, pointer, touch }
    }
}

impl Client {
    /// What the seat told since this was last called.
    pub(crate) fn take_input(&mut self) -> Vec<Input> {
        std::mem::take(&mut self.events.desk.input)
    }
}

/// The interfaces whose events are folded into [`Desk`], with what each event does.
macro_rules! listen {
    ($interface:ty, |$desk:ident, $object:ident, $event:ident| $body:expr) => {
        impl Dispatch<$interface, ()> for Events {
            fn event(
                events: &mut Self,
                $object: &$interface,
                $event: <$interface as Proxy>::Event,
                _: &(),
                _: &Connection,
                _: &QueueHandle<Self>,
            ) {
                let $desk = &mut events.desk;
                $body
            }
        }
    };
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

listen!(xdg_wm_base::XdgWmBase, |desk, object, event| if let xdg_wm_base::Event::Ping { serial } = event
    && !desk.hung
{
    object.pong(serial);
});
listen!(xdg_surface::XdgSurface, |desk, object, event| if let xdg_surface::Event::Configure { serial } = event {
    desk.serials.insert(object.id(), serial);
});
listen!(xdg_toplevel::XdgToplevel, |desk, object, event| {
    let told = desk.windows.entry(object.id()).or_default();
    match event {
        xdg_toplevel::Event::Configure { width, height, states } => {
            told.size = (width, height);
            told.states = words(&states);
            told.configures += 1;
        }
        xdg_toplevel::Event::ConfigureBounds { width, height } => told.bounds = (width, height),
        xdg_toplevel::Event::WmCapabilities { capabilities } => told.capabilities = words(&capabilities),
        xdg_toplevel::Event::Close => told.closed = true,
        _ => {}
    }
});
listen!(xdg_popup::XdgPopup, |desk, object, event| {
    let told = desk.popups.entry(object.id()).or_default();
    match event {
        xdg_popup::Event::Configure { x, y, width, height } => told.place = Rect::new(x, y, width, height),
        xdg_popup::Event::PopupDone => told.done = true,
        xdg_popup::Event::Repositioned { token } => told.repositioned.push(token),
        _ => {}
    }
});
listen!(zwlr_layer_surface_v1::ZwlrLayerSurfaceV1, |desk, object, event| {
    let told = desk.panels.entry(object.id()).or_default();
    match event {
        zwlr_layer_surface_v1::Event::Configure { serial, width, height } => {
            (told.serial, told.size) = (serial, (width, height));
        }
        zwlr_layer_surface_v1::Event::Closed => told.closed = true,
        _ => {}
    }
});
listen!(wl_seat::WlSeat, |desk, _object, event| if let wl_seat::Event::Capabilities { capabilities } = event {
    desk.capabilities = capabilities.into();
});
listen!(wl_keyboard::WlKeyboard, |desk, _object, event| match event {
    wl_keyboard::Event::Keymap { .. } => desk.keymaps += 1,
    wl_keyboard::Event::Enter { surface, .. } => desk.input.push(Input::KeyEnter(surface.id())),
    wl_keyboard::Event::Leave { surface, .. } => desk.input.push(Input::KeyLeave(surface.id())),
    wl_keyboard::Event::Key { serial, key, state, .. } => {
        let pressed = u32::from(state) == 1;
        if pressed {
            desk.press_serial = serial;
        }
        desk.input.push(Input::Key(key, pressed));
    }
    wl_keyboard::Event::Modifiers { mods_depressed, group, .. } => {
        desk.group = group;
        desk.input.push(Input::Modifiers(mods_depressed));
    }
    wl_keyboard::Event::RepeatInfo { rate, delay } => desk.repeat = Some((rate, delay)),
    _ => {}
});
listen!(wl_pointer::WlPointer, |desk, _object, event| match event {
    wl_pointer::Event::Enter { serial, surface, surface_x, surface_y } => {
        desk.enter_serial = serial;
        desk.input.push(Input::Enter(surface.id(), surface_x, surface_y));
    }
    wl_pointer::Event::Leave { surface, .. } => desk.input.push(Input::Leave(surface.id())),
    wl_pointer::Event::Motion { surface_x, surface_y, .. } => desk.input.push(Input::Motion(surface_x, surface_y)),
    wl_pointer::Event::Button { serial, button, state, .. } => {
        let pressed = u32::from(state) == 1;
        if pressed {
            desk.press_serial = serial;
        }
        desk.input.push(Input::Button(button, pressed));
    }
    wl_pointer::Event::Axis { axis, value, .. } => {
        let vertical = u32::from(axis) == 0;
        desk.input.push(if vertical { Input::Axis(0.0, value) } else { Input::Axis(value, 0.0) });
    }
    wl_pointer::Event::AxisValue120 { axis, value120 } => {
        let vertical = u32::from(axis) == 0;
        desk.input.push(if vertical { Input::V120(0, value120) } else { Input::V120(value120, 0) });
    }
    _ => {}
});
listen!(wl_touch::WlTouch, |desk, _object, event| match event {
    wl_touch::Event::Down { serial, surface, id, x, y, .. } => {
        desk.press_serial = serial;
        desk.input.push(Input::TouchDown(surface.id(), id, x, y));
    }
    wl_touch::Event::Motion { id, x, y, .. } => desk.input.push(Input::TouchMotion(id, x, y)),
    wl_touch::Event::Up { id, .. } => desk.input.push(Input::TouchUp(id)),
    wl_touch::Event::Cancel => desk.input.push(Input::TouchCancel),
    _ => {}
});
listen!(zwp_relative_pointer_v1::ZwpRelativePointerV1, |desk, _object, event| {
    if let zwp_relative_pointer_v1::Event::RelativeMotion { dx, dy, .. } = event {
        desk.input.push(Input::Relative(dx, dy));
    }
});
listen!(zwp_locked_pointer_v1::ZwpLockedPointerV1, |desk, _object, event| match event {
    zwp_locked_pointer_v1::Event::Locked => desk.input.push(Input::Locked),
    zwp_locked_pointer_v1::Event::Unlocked => desk.input.push(Input::Unlocked),
    _ => {}
});
listen!(zwp_confined_pointer_v1::ZwpConfinedPointerV1, |desk, _object, event| match event {
    zwp_confined_pointer_v1::Event::Confined => desk.input.push(Input::Confined),
    zwp_confined_pointer_v1::Event::Unconfined => desk.input.push(Input::Unconfined),
    _ => {}
});
listen!(wl_data_offer::WlDataOffer, |desk, _object, event| {
    if let wl_data_offer::Event::Offer { mime_type } = event {
        desk.mimes.push(mime_type);
    }
});
listen!(zwp_primary_selection_offer_v1::ZwpPrimarySelectionOfferV1, |desk, _object, event| {
    if let zwp_primary_selection_offer_v1::Event::Offer { mime_type } = event {
        desk.mimes.push(mime_type);
    }
});
listen!(wl_data_source::WlDataSource, |desk, _object, event| match event {
    wl_data_source::Event::Send { mime_type, fd } => desk.sends.push((mime_type, fd)),
    wl_data_source::Event::Cancelled => desk.cancelled += 1,
    wl_data_source::Event::DndFinished => desk.finished += 1,
    _ => {}
});
listen!(zwp_primary_selection_source_v1::ZwpPrimarySelectionSourceV1, |desk, _object, event| match event {
    zwp_primary_selection_source_v1::Event::Send { mime_type, fd } => desk.sends.push((mime_type, fd)),
    zwp_primary_selection_source_v1::Event::Cancelled => desk.cancelled += 1,
    _ => {}
});
listen!(xdg_activation_token_v1::XdgActivationTokenV1, |desk, _object, event| {
    if let xdg_activation_token_v1::Event::Done { token } = event {
        desk.token = Some(token);
    }
});
listen!(zxdg_toplevel_decoration_v1::ZxdgToplevelDecorationV1, |desk, _object, event| {
    if let zxdg_toplevel_decoration_v1::Event::Configure { mode } = event {
        desk.decoration = Some(mode.into());
    }
});

impl Dispatch<wl_data_device::WlDataDevice, ()> for Events {
    fn event(
        events: &mut Self,
        _: &wl_data_device::WlDataDevice,
        event: wl_data_device::Event,
        _: &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let desk = &mut events.desk;
        match event {
            wl_data_device::Event::DataOffer { .. } => desk.mimes.clear(),
            wl_data_device::Event::Selection { id } => desk.offer = id,
            wl_data_device::Event::Enter { serial, id, .. } => (desk.dragged, desk.drag_serial) = (id, serial),
            wl_data_device::Event::Leave => desk.drag_left += 1,
            wl_data_device::Event::Drop => desk.dropped = true,
            _ => {}
        }
    }

    event_created_child!(Events, wl_data_device::WlDataDevice, [
        wl_data_device::EVT_DATA_OFFER_OPCODE => (wl_data_offer::WlDataOffer, ()),
    ]);
}

impl Dispatch<zwp_primary_selection_device_v1::ZwpPrimarySelectionDeviceV1, ()> for Events {
    fn event(
        events: &mut Self,
        _: &zwp_primary_selection_device_v1::ZwpPrimarySelectionDeviceV1,
        event: zwp_primary_selection_device_v1::Event,
        _: &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            zwp_primary_selection_device_v1::Event::DataOffer { .. } => events.desk.mimes.clear(),
            zwp_primary_selection_device_v1::Event::Selection { id } => events.desk.primary = id,
            _ => {}
        }
    }

    event_created_child!(Events, zwp_primary_selection_device_v1::ZwpPrimarySelectionDeviceV1, [
        zwp_primary_selection_device_v1::EVT_DATA_OFFER_OPCODE =>
            (zwp_primary_selection_offer_v1::ZwpPrimarySelectionOfferV1, ()),
    ]);
}

delegate_noop!(Events: xdg_positioner::XdgPositioner);
delegate_noop!(Events: zwlr_layer_shell_v1::ZwlrLayerShellV1);
delegate_noop!(Events: wl_data_device_manager::WlDataDeviceManager);
delegate_noop!(Events: zwp_primary_selection_device_manager_v1::ZwpPrimarySelectionDeviceManagerV1);
delegate_noop!(Events: zwp_pointer_constraints_v1::ZwpPointerConstraintsV1);
delegate_noop!(Events: zwp_relative_pointer_manager_v1::ZwpRelativePointerManagerV1);
delegate_noop!(Events: wp_cursor_shape_manager_v1::WpCursorShapeManagerV1);
delegate_noop!(Events: wp_cursor_shape_device_v1::WpCursorShapeDeviceV1);
delegate_noop!(Events: zwp_idle_inhibit_manager_v1::ZwpIdleInhibitManagerV1);
delegate_noop!(Events: zwp_idle_inhibitor_v1::ZwpIdleInhibitorV1);
delegate_noop!(Events: xdg_activation_v1::XdgActivationV1);
delegate_noop!(Events: zxdg_decoration_manager_v1::ZxdgDecorationManagerV1);
delegate_noop!(Events: zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1);
delegate_noop!(Events: zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1);
delegate_noop!(Events: zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1);
delegate_noop!(Events: zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1);

/// The output with this name, as a client binds it: the only one there is, or the `nth` of its globals.
pub(crate) fn output(client: &Client) -> wl_output::WlOutput {
    client.bind()
}
