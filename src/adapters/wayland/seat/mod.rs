//! The seat: one keyboard, one pointer, touch, and what they are on.
//!
//! Every backend's events come in through [`State::input`](input); clients' virtual devices come in as devices of their
//! own, so that what one holds down goes up with it. What has the keyboard is decided in one place, [`State::refocus`],
//! from the whole state, never as a side effect of an event.
//!
//! - [`input`]: where events enter; [`keyboard`], [`pointer`], [`touch`]: what becomes of them; [`held`]: what is down;
//! - [`drag`]: windows moved and resized by hand; [`constraint`]: locked and confined pointers;
//! - [`cursor`], [`theme`], [`arrow`]: the pointer's image; [`selection`]: clipboard and drag and drop;
//! - [`serials`]: which client got which input event; [`virtual_keyboard`], [`virtual_pointer`]: input from clients.
//!
//! A trap: smithay holds a lock on its pointer (or keyboard, or touch) while it calls handlers from there
//! (`cursor_image`, the drag handlers), which must therefore only take notes and never ask that device anything.

use smithay::input::pointer::{CursorImageStatus, PointerHandle};
use smithay::input::touch::TouchHandle;
use smithay::input::{Seat as SmithaySeat, SeatHandler, SeatState};
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::reexports::wayland_server::{DisplayHandle, Resource};
use smithay::utils::SERIAL_COUNTER;
use smithay::wayland::cursor_shape::CursorShapeManagerState;
use smithay::wayland::pointer_constraints::PointerConstraintsState;
use smithay::wayland::relative_pointer::RelativePointerManagerState;
use smithay::wayland::selection::data_device::{DataDeviceState, set_data_device_focus};
use smithay::wayland::selection::primary_selection::{PrimarySelectionState, set_primary_focus};
use smithay::wayland::tablet_manager::TabletSeatHandler;

use self::cursor::Cursor;
use self::drag::Drag;
use self::held::Held;
use self::keyboard::Keys;
use self::selection::{Icon, Sources};
use self::serials::Serials;
use super::latch::Item;
use super::state::State;
use crate::domain::config::{self, Config};
use crate::domain::geometry::Point;
use crate::domain::window::WindowId;

mod arrow;
mod constraint;
mod cursor;
mod drag;
mod held;
mod input;
mod keyboard;
mod pointer;
mod selection;
pub(super) mod serials;
mod theme;
mod touch;
mod virtual_keyboard;
mod virtual_pointer;

pub use keyboard::{ConfigError, has_keymap, is_key};

/// The seat's part of [`State`].
#[derive(Debug)]
pub struct Seat {
    state: SeatState<State>,
    seat: SmithaySeat<State>,
    pointer: PointerHandle<State>,
    touch: TouchHandle<State>,
    keys: Keys,
    buttons: Held,
    /// The pointer is on none of our outputs: it left the host's window, or nothing moved it yet. It is not shown, so that
    /// a machine without a pointer composites none.
    pointer_gone: bool,
    /// What the pointer was last told to be on, and that surface's corner.
    pointer_on: Option<(WlSurface, f64, f64)>,
    cursor: Cursor,
    icon: Option<Icon>,
    sources: Sources,
    drag: Option<Drag>,
    /// The panel that a click gave the keyboard to.
    pub(super) panel_focus: Option<WlSurface>,
    pub(super) serials: Serials,
    virtual_devices: u32,
    virtual_keyboards: virtual_keyboard::Keyboards,
    scroll: config::Pointer,
    focus_by: config::Focus,
    drag_modifiers: crate::domain::binding::Modifiers,
    data_device: DataDeviceState,
    primary: PrimarySelectionState,
    /// Storage for looking for what is under the pointer.
    scratch: Vec<Item>,
}

impl Seat {
    /// Announces the seat's globals on `display`.
    pub(super) fn new(display: &DisplayHandle) -> Self {
        let mut state = SeatState::new();
        let mut seat = state.new_wl_seat(display, "seat0");
        let keys = Keys::new(&mut seat);
        let pointer = seat.add_pointer();
        let touch = seat.add_touch();
        // smithay's states of these hold nothing but the global's id; the globals live as long as the display.
        PointerConstraintsState::new::<State>(display);
        RelativePointerManagerState::new::<State>(display);
        CursorShapeManagerState::new::<State>(display);
        virtual_keyboard::create_global(display);
        virtual_pointer::create_global(display);
        let windows = config::Windows::default();
        Self {
            state,
            seat,
            pointer,
            touch,
            keys,
            buttons: Held::default(),
            pointer_gone: true,
            pointer_on: None,
            cursor: Cursor::default(),
            icon: None,
            sources: Sources::default(),
            drag: None,
            panel_focus: None,
            serials: Serials::default(),
            virtual_devices: 0,
            virtual_keyboards: Vec::new(),
            scroll: config::Pointer::default(),
            focus_by: windows.focus,
            drag_modifiers: windows.drag_modifiers,
            data_device: DataDeviceState::new::<State>(display),
            primary: PrimarySelectionState::new::<State>(display),
            scratch: Vec::new(),
        }
    }
}

impl State {
    /// Takes a configuration: keyboard, bindings, pointer, cursor, windows, workspaces, background.
    ///
    /// # Errors
    /// [`ConfigError`], every mistake that was found; what was in force for those parts stays, the rest is taken.
    pub fn set_config(&mut self, config: &Config) -> Result<(), Vec<ConfigError>> {
        self.shell.set_config(config);
        self.seat.scroll = config.input.pointer.clone();
        self.seat.focus_by = config.windows.focus;
        self.seat.drag_modifiers = config.windows.drag_modifiers;
        self.set_cursor_theme(&config.cursor);
        let mut errors = Vec::new();
        errors.extend(self.set_keyboard_config(&config.input.keyboard).err());
        errors.extend(self.set_bindings(&config.bindings));
        self.settle();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Gives the keyboard to whom it belongs now, and with it the clipboard.
    pub(super) fn refocus(&mut self) {
        let wanted = self.keyboard_target();
        if let Some(keyboard) = self.seat.seat.get_keyboard()
            && keyboard.current_focus() != wanted
        {
            keyboard.set_focus(self, wanted.clone(), SERIAL_COUNTER.next_serial());
            let client = wanted.as_ref().and_then(Resource::client);
            set_data_device_focus(&self.core.display, &self.seat.seat, client.clone());
            set_primary_focus(&self.core.display, &self.seat.seat, client);
        }
        self.refresh_pointer();
    }

    fn keyboard_target(&mut self) -> Option<WlSurface> {
        if let Some(exclusive) = self.shell.panels.exclusive() {
            return Some(exclusive.clone());
        }
        if let Some((popup, _)) = self.shell.popups.grabbed() {
            return Some(popup.clone());
        }
        self.seat.panel_focus.take_if(|panel| !self.shell.panels.takes_keyboard(panel));
        if let Some(panel) = &self.seat.panel_focus {
            return Some(panel.clone());
        }
        self.shell.desktop.focused().and_then(|id| self.shell.surface_of(id)).cloned()
    }

    /// Gives a window the focus, and brings it to the front.
    pub(super) fn focus_window(&mut self, id: WindowId) {
        self.seat.panel_focus = None;
        if self.shell.desktop.focused() != Some(id) {
            self.ping_window(id);
        }
        self.shell.desktop.activate(id);
    }

    /// A click or a touch on a surface, or on none, at a logical point: who has the focus now, and which output? What
    /// takes no keyboard takes none from others: an on-screen keyboard types elsewhere.
    fn focus_by_click(&mut self, root: Option<&WlSurface>, x: f64, y: f64) {
        let root = root.map(|root| self.shell.popups.root_of(root).unwrap_or(root).clone());
        if let Some(root) = root {
            if let Some(id) = self.shell.window_of(&root) {
                return self.focus_window(id);
            }
            if !self.shell.panels.takes_keyboard(&root) {
                return;
            }
            self.seat.panel_focus = Some(root);
            self.shell.dirty = true;
        } else {
            self.shell.dirty |= self.seat.panel_focus.take().is_some();
        }
        let at = Point::new(x.floor() as i32, y.floor() as i32);
        if let Some(screen) = self.shell.desktop.screen_at(at).map(|screen| screen.id) {
            self.shell.desktop.set_current_screen(screen);
        }
    }

    /// After a surface commit of a surface that is no window, panel or popup.
    pub(super) fn seat_surface_committed(&mut self, surface: &WlSurface) {
        self.cursor_committed(surface);
        self.icon_committed(surface);
    }

    pub(super) fn seat_surface_destroyed(&mut self, surface: &WlSurface) {
        self.seat.panel_focus.take_if(|panel| panel == surface);
        self.seat.pointer_on.take_if(|(on, ..)| on == surface);
        self.seat.icon.take_if(|icon| icon.surface == *surface);
        self.cursor_destroyed(surface);
    }
}

impl SeatHandler for State {
    type KeyboardFocus = WlSurface;
    type PointerFocus = WlSurface;
    type TouchFocus = WlSurface;

    fn seat_state(&mut self) -> &mut SeatState<Self> {
        &mut self.seat.state
    }

    // Called with the pointer locked.
    fn cursor_image(&mut self, _seat: &SmithaySeat<Self>, image: CursorImageStatus) {
        self.seat.cursor.set(image);
        self.shell.dirty = true;
    }
}

impl TabletSeatHandler for State {}

smithay::delegate_seat!(State);
smithay::delegate_cursor_shape!(State);
smithay::delegate_relative_pointer!(State);
