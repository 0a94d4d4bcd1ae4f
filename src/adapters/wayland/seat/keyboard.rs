//! Keys: layouts, bindings, and what goes to the client that has the keyboard.
//!
//! All devices share one XKB state, since clients know one keyboard. A virtual keyboard brings its own keymap, which is
//! the seat's from its first key on until another device's key, when that one's is used again.

use std::collections::HashSet;

use smithay::backend::input::KeyState;
use smithay::input::Seat as SmithaySeat;
use smithay::input::keyboard::{FilterResult, Keycode, KeysymHandle, ModifiersState, XkbConfig, xkb};
use smithay::reexports::wayland_server::Resource;
use smithay::utils::SERIAL_COUNTER;

use super::held::{Device, Held};
use crate::adapters::wayland::state::State;
use crate::domain::action::Action;
use crate::domain::binding::{Bindings, Modifiers};
use crate::domain::config::Keyboard;
use crate::ports::input::Press;

/// The greatest evdev code there is (KEY_MAX of linux/input-event-codes.h).
const MAX_CODE: u32 = 0x2ff;

/// What evdev codes are moved by to be XKB's.
const XKB_OFFSET: u32 = 8;

/// What of a configuration could not be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A binding names a key that XKB does not know.
    #[error("bindings: there is no key '{key}' (XKB keysym names, such as Return or XF86AudioMute)")]
    Key {
        /// The name.
        key: String,
    },
    /// XKB has no such keymap.
    #[error("input.keyboard: there is no keymap with layout '{layout}', variant '{variant}' and options '{options}'")]
    Keymap {
        /// As configured.
        layout: String,
        /// As configured.
        variant: String,
        /// As configured.
        options: String,
    },
}

#[derive(Debug)]
struct Bound {
    modifiers: Modifiers,
    symbol: xkb::Keysym,
    action: Action,
}

/// The keyboards' state.
#[derive(Debug)]
pub(super) struct Keys {
    held: Held,
    /// Held keys whose press was a binding's: clients get no release either.
    bound: HashSet<u32>,
    bindings: Vec<Bound>,
    config: Keyboard,
    /// Whose keymap is the seat's now.
    keymap_of: Device,
    /// The layout to go back to with the configured keymap.
    layout: u32,
}

impl Keys {
    /// Gives the seat a keyboard with the system's own layout. Without XKB's data files there is none.
    pub(super) fn new(seat: &mut SmithaySeat<State>) -> Self {
        let config = Keyboard::default();
        let (delay, rate) = (i32::from(config.repeat_delay), i32::from(config.repeat_rate));
        if let Err(error) = seat.add_keyboard(XkbConfig::default(), delay, rate) {
            tracing::warn!(%error, "no keyboard: the XKB data files (xkb-data) are missing");
        }
        let (bindings, _) = compile(&Bindings::default());
        Self { held: Held::default(), bound: HashSet::new(), bindings, config, keymap_of: Device::Physical, layout: 0 }
    }
}

fn xkb_config(config: &Keyboard) -> XkbConfig<'_> {
    XkbConfig {
        rules: &config.rules,
        model: &config.model,
        layout: &config.layout,
        variant: &config.variant,
        options: (!config.options.is_empty()).then(|| config.options.clone()),
    }
}

/// Whether XKB knows a key of this name, written in capitals or not.
pub fn is_key(name: &str) -> bool {
    keysym(name) != xkb::Keysym::NoSymbol
}

fn keysym(name: &str) -> xkb::Keysym {
    // The library takes C strings, and panics on what is none.
    let name = if name.contains('\0') { "" } else { name };
    xkb::keysym_from_name(name, xkb::KEYSYM_CASE_INSENSITIVE)
}

/// Whether XKB has such a keymap. Costs as much as using it.
pub fn has_keymap(config: &Keyboard) -> bool {
    let names = [&config.rules, &config.model, &config.layout, &config.variant];
    if names.into_iter().chain([&config.options]).any(|name| name.contains('\0')) {
        return false; // as above
    }
    let mut context = xkb::Context::new(xkb::CONTEXT_NO_FLAGS);
    context.set_log_level(xkb::LogLevel::Critical); // who asks says it
    let [rules, model, layout, variant] = names;
    let options = (!config.options.is_empty()).then(|| config.options.clone());
    let flags = xkb::KEYMAP_COMPILE_NO_FLAGS;
    xkb::Keymap::new_from_names(&context, rules, model, layout, variant, options, flags).is_some()
}

fn compile(bindings: &Bindings) -> (Vec<Bound>, Vec<ConfigError>) {
    let mut compiled = Vec::new();
    let mut errors = Vec::new();
    for (chord, action) in bindings.iter() {
        let symbol = keysym(&chord.key);
        if symbol == xkb::Keysym::NoSymbol {
            errors.push(ConfigError::Key { key: chord.key.clone() });
        } else {
            compiled.push(Bound { modifiers: chord.modifiers, symbol, action: action.clone() });
        }
    }
    (compiled, errors)
}

pub(super) fn held_modifiers(state: &ModifiersState) -> Modifiers {
    Modifiers { logo: state.logo, ctrl: state.ctrl, alt: state.alt, shift: state.shift }
}

impl State {
    pub(super) fn set_bindings(&mut self, bindings: &Bindings) -> Vec<ConfigError> {
        let (compiled, errors) = compile(bindings);
        if errors.is_empty() {
            self.seat.keys.bindings = compiled;
        }
        errors
    }

    pub(super) fn set_keyboard_config(&mut self, config: &Keyboard) -> Result<(), ConfigError> {
        let Some(keyboard) = self.seat.seat.get_keyboard() else { return Ok(()) };
        keyboard.change_repeat_info(i32::from(config.repeat_rate), i32::from(config.repeat_delay));
        let old = &self.seat.keys.config;
        let names = |c: &Keyboard| [&c.rules, &c.model, &c.layout, &c.variant, &c.options].map(String::clone);
        if names(old) != names(config) {
            if !has_keymap(config) || keyboard.set_xkb_config(self, xkb_config(config)).is_err() {
                return Err(ConfigError::Keymap {
                    layout: config.layout.clone(),
                    variant: config.variant.clone(),
                    options: config.options.clone(),
                });
            }
            self.seat.keys.keymap_of = Device::Physical;
            self.seat.keys.layout = 0;
        }
        self.seat.keys.config = config.clone();
        Ok(())
    }

    /// A device's key, by its evdev code.
    pub(super) fn key(&mut self, device: Device, code: u32, press: Press) {
        if code > MAX_CODE {
            return;
        }
        let news = match press {
            Press::Pressed => self.seat.keys.held.press(device, code),
            Press::Released => self.seat.keys.held.release(device, code),
        };
        let Some(keyboard) = self.seat.seat.get_keyboard().filter(|_| news) else { return };
        self.use_keymap(device);
        let serial = SERIAL_COUNTER.next_serial();
        let state = match press {
            Press::Pressed => KeyState::Pressed,
            Press::Released => KeyState::Released,
        };
        if press == Press::Pressed
            && let Some(client) = keyboard.current_focus().and_then(|focus| focus.client())
        {
            self.seat.serials.give(serial, client.id());
        }
        let time = self.time_ms();
        let keycode = Keycode::from(code + XKB_OFFSET);
        let action = keyboard.input(self, keycode, state, serial, time, |state, modifiers, key| {
            state.bound_action(code, press, modifiers, &key)
        });
        if held_modifiers(&keyboard.modifier_state()) == Modifiers::default() {
            self.shell.desktop.end_cycle();
        }
        if let Some(Some(action)) = action
            && let Err(error) = self.act(&action)
        {
            tracing::debug!(%error, %action, "a binding did nothing");
        }
    }

    fn bound_action(
        &mut self,
        code: u32,
        press: Press,
        modifiers: &ModifiersState,
        key: &KeysymHandle<'_>,
    ) -> FilterResult<Option<Action>> {
        let keys = &mut self.seat.keys;
        if press == Press::Released {
            let was_bound = keys.bound.remove(&code);
            return if was_bound { FilterResult::Intercept(None) } else { FilterResult::Forward };
        }
        let held = held_modifiers(modifiers);
        // With a layout of another script, keys mean what they mean in the Latin layout beside it.
        let symbol = key.raw_latin_sym_or_raw_current_sym();
        match keys.bindings.iter().find(|bound| bound.modifiers == held && Some(bound.symbol) == symbol) {
            Some(bound) => {
                keys.bound.insert(code);
                FilterResult::Intercept(Some(bound.action.clone()))
            }
            None => FilterResult::Forward,
        }
    }

    /// Releases everything that only this device holds.
    pub(super) fn release_keys(&mut self, device: Device) {
        while let Some(code) = self.seat.keys.held.any_of(device) {
            self.key(device, code, Press::Released);
        }
    }

    /// Makes a device's keymap the seat's.
    pub(super) fn use_keymap(&mut self, device: Device) {
        let Some(keyboard) = self.seat.seat.get_keyboard() else { return };
        if self.seat.keys.keymap_of == device {
            return;
        }
        let active = keyboard
            .with_xkb_state(self, |context| context.xkb().lock().map(|xkb| xkb.active_layout()).unwrap_or_default());
        if self.seat.keys.keymap_of == Device::Physical {
            self.seat.keys.layout = active.0;
        }
        let taken = match device {
            Device::Virtual(number) => match self.virtual_keymap(number) {
                Some(keymap) => keyboard.set_keymap_from_string(self, keymap).is_ok(),
                None => return,
            },
            Device::Physical => {
                let config = self.seat.keys.config.clone();
                let taken = keyboard.set_xkb_config(self, xkb_config(&config)).is_ok();
                let layout = smithay::input::keyboard::Layout(self.seat.keys.layout);
                keyboard.with_xkb_state(self, |mut context| context.set_layout(layout));
                taken
            }
        };
        if taken {
            self.seat.keys.keymap_of = device;
        } else {
            tracing::warn!(?device, "a keymap that compiled before does not now");
        }
    }

    /// A virtual keyboard is gone, or has another keymap: its old one is used no more.
    pub(super) fn drop_keymap(&mut self, device: Device) {
        if self.seat.keys.keymap_of == device {
            self.use_keymap(Device::Physical);
        }
    }

    /// Uses the next of the keyboard's layouts.
    pub(in crate::adapters::wayland) fn next_layout(&mut self) {
        self.use_keymap(Device::Physical);
        if let Some(keyboard) = self.seat.seat.get_keyboard() {
            keyboard.with_xkb_state(self, |mut context| context.cycle_next_layout());
        }
    }

    /// The modifiers that are held, whatever holds them.
    pub(super) fn modifiers(&self) -> Modifiers {
        self.seat
            .seat
            .get_keyboard()
            .map_or(Modifiers::default(), |keyboard| held_modifiers(&keyboard.modifier_state()))
    }
}
