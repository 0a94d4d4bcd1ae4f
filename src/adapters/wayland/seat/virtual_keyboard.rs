//! Keyboards of clients: zwp_virtual_keyboard_v1.
//!
//! Our own, since smithay's maps the client's keymap file with the size the client says (a shorter one is a SIGBUS),
//! shares one keymap between all of them, knows no bindings and leaves keys down when the client goes. Here each is a
//! device like the real one: its keys go through [`State::key`], its keymap is copied, bounded, and used with its keys.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use smithay::input::keyboard::{KeyboardTarget, Layout, ModifiersState, xkb};
use smithay::reexports::wayland_protocols_misc::zwp_virtual_keyboard_v1::server::{
    zwp_virtual_keyboard_manager_v1::{self, ZwpVirtualKeyboardManagerV1},
    zwp_virtual_keyboard_v1::{self, ZwpVirtualKeyboardV1},
};
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_keyboard::KeymapFormat;
use smithay::reexports::wayland_server::{
    Client, DataInit, Dispatch, DisplayHandle, GlobalDispatch, New, Resource, Weak,
};
use smithay::utils::SERIAL_COUNTER;

use super::held::Device;
use crate::adapters::wayland::client::ClientState;
use crate::adapters::wayland::state::State;
use crate::ports::input::Press;

/// A keymap that is greater than this is refused; real ones have some 60 KiB.
const MAX_KEYMAP_BYTES: u32 = 1 << 20;

/// A virtual keyboard's own state.
#[derive(Debug)]
pub struct VirtualKeyboard {
    number: u32,
    has_keymap: AtomicBool,
    keymap: Mutex<Option<String>>,
}

/// The virtual keyboards that are there, for finding a keymap.
pub(super) type Keyboards = Vec<(u32, Weak<ZwpVirtualKeyboardV1>)>;

pub(super) fn create_global(display: &DisplayHandle) {
    display.create_global::<State, ZwpVirtualKeyboardManagerV1, ()>(1, ());
}

impl State {
    /// The keymap of the virtual keyboard with this number.
    pub(super) fn virtual_keymap(&self, number: u32) -> Option<String> {
        let (_, keyboard) = self.seat.virtual_keyboards.iter().find(|(n, _)| *n == number)?;
        let keyboard = keyboard.upgrade().ok()?;
        keyboard.data::<VirtualKeyboard>()?.keymap.lock().ok()?.clone()
    }

    fn virtual_modifiers(&mut self, device: Device, depressed: u32, latched: u32, locked: u32, group: u32) {
        self.use_keymap(device);
        let Some(keyboard) = self.seat.seat.get_keyboard() else { return };
        let mut modifiers = ModifiersState::default();
        let known = keyboard.with_xkb_state(self, |context| {
            let Ok(xkb) = context.xkb().lock() else { return false };
            // SAFETY: the keymap is used within this call only, on the one thread that uses it, while its lock is held.
            let keymap = unsafe { xkb.keymap() };
            let mut state = xkb::State::new(keymap);
            state.update_mask(depressed, latched, locked, 0, 0, group);
            modifiers.update_with(&state);
            group < keymap.num_layouts()
        });
        keyboard.set_modifier_state(modifiers);
        if known {
            keyboard.with_xkb_state(self, |mut context| context.set_layout(Layout(group)));
        }
        // smithay tells nobody of a state that is set.
        if let Some(focus) = keyboard.current_focus() {
            let (seat, now) = (self.seat.seat.clone(), keyboard.modifier_state());
            KeyboardTarget::modifiers(&focus, &seat, self, now, SERIAL_COUNTER.next_serial());
        }
    }
}

/// The client's keymap, as text; `None` where it is none. The file is read, not mapped: it may shrink any time.
fn read_keymap(fd: OwnedFd, size: u32) -> Option<String> {
    if size > MAX_KEYMAP_BYTES {
        return None;
    }
    let file = File::from(fd);
    if !file.metadata().ok()?.is_file() {
        return None; // a pipe could keep us waiting
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    let text = String::from_utf8(bytes).ok()?;
    let context = xkb::Context::new(xkb::CONTEXT_NO_FLAGS);
    let (format, flags) = (xkb::KEYMAP_FORMAT_TEXT_V1, xkb::KEYMAP_COMPILE_NO_FLAGS);
    xkb::Keymap::new_from_string(&context, text.clone(), format, flags).map(|_| text)
}

impl GlobalDispatch<ZwpVirtualKeyboardManagerV1, ()> for State {
    fn bind(
        _: &mut Self,
        _: &DisplayHandle,
        _: &Client,
        manager: New<ZwpVirtualKeyboardManagerV1>,
        (): &(),
        init: &mut DataInit<'_, Self>,
    ) {
        init.init(manager, ());
    }
}

impl Dispatch<ZwpVirtualKeyboardManagerV1, ()> for State {
    fn request(
        state: &mut Self,
        _: &Client,
        _: &ZwpVirtualKeyboardManagerV1,
        request: zwp_virtual_keyboard_manager_v1::Request,
        (): &(),
        _: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let zwp_virtual_keyboard_manager_v1::Request::CreateVirtualKeyboard { id, .. } = request {
            state.seat.virtual_devices += 1;
            let number = state.seat.virtual_devices;
            let data = VirtualKeyboard { number, has_keymap: AtomicBool::new(false), keymap: Mutex::new(None) };
            let keyboard = init.init(id, data);
            state.seat.virtual_keyboards.push((number, keyboard.downgrade()));
        }
    }
}

impl Dispatch<ZwpVirtualKeyboardV1, VirtualKeyboard> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        keyboard: &ZwpVirtualKeyboardV1,
        request: zwp_virtual_keyboard_v1::Request,
        data: &VirtualKeyboard,
        _: &DisplayHandle,
        _: &mut DataInit<'_, Self>,
    ) {
        use zwp_virtual_keyboard_v1::Request;
        let device = Device::Virtual(data.number);
        let ready = data.has_keymap.load(Ordering::Relaxed);
        if let Request::Keymap { .. } = request
            && let Some(client) = client.get_data::<ClientState>()
        {
            client.took_descriptor();
        }
        match request {
            Request::Keymap { format, fd, size } if format == KeymapFormat::XkbV1 as u32 => {
                let Some(text) = read_keymap(fd, size) else {
                    tracing::debug!(size, "a virtual keyboard's keymap is none");
                    return;
                };
                if let Ok(mut keymap) = data.keymap.lock() {
                    *keymap = Some(text);
                }
                data.has_keymap.store(true, Ordering::Relaxed);
                state.drop_keymap(device);
            }
            Request::Keymap { .. } | Request::Destroy => {}
            _ if !ready => {
                keyboard.post_error(zwp_virtual_keyboard_v1::Error::NoKeymap, "there is no keymap yet");
            }
            Request::Key { key, state: pressed, .. } => {
                state.key(device, key, if pressed == 1 { Press::Pressed } else { Press::Released });
            }
            Request::Modifiers { mods_depressed, mods_latched, mods_locked, group } => {
                state.virtual_modifiers(device, mods_depressed, mods_latched, mods_locked, group);
            }
            _ => {}
        }
    }

    fn destroyed(state: &mut Self, _: ClientId, _: &ZwpVirtualKeyboardV1, data: &VirtualKeyboard) {
        let device = Device::Virtual(data.number);
        state.release_keys(device);
        state.seat.virtual_keyboards.retain(|(number, _)| *number != data.number);
        state.drop_keymap(device);
    }
}
