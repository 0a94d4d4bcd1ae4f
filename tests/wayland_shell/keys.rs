//! The keyboard: focus, bindings, repeat, what is held, layouts, virtual keyboards.

use std::os::fd::AsFd;

use nix::sys::memfd::MFdFlags;
use transom::adapters::wayland::Event as Asked;
use transom::adapters::wayland::seat::ConfigError;
use transom::domain::config::Config;
use transom::ports::input::{Event, Press};
use wayland_client::Proxy;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::{
    zwp_virtual_keyboard_manager_v1, zwp_virtual_keyboard_v1,
};

use crate::host;
use crate::support::client::{Client, memory};
use crate::support::desk::{Input, Seat, Window};

const KEY_A: u32 = 30;
const KEY_Q: u32 = 16;
const KEY_TAB: u32 = 15;
const KEY_E: u32 = 18;
const KEY_LEFTSHIFT: u32 = 42;
const KEY_LEFTMETA: u32 = 125;
const SHIFT: u32 = 1;

fn keys(input: &[Input]) -> Vec<(u32, bool)> {
    let key = |input: &Input| match input {
        Input::Key(code, pressed) => Some((*code, *pressed)),
        _ => None,
    };
    input.iter().filter_map(key).collect()
}

#[test]
fn keyboard_says_its_repeat_and_keymap_and_follows_the_configuration() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    client.roundtrip(&mut host);
    assert_eq!((client.events.desk.repeat, client.events.desk.keymaps), (Some((25, 600)), 1));
    assert_eq!(client.events.desk.capabilities, 7, "pointer, keyboard, touch");
    let mut config = Config::default();
    config.input.keyboard.repeat_rate = 0;
    config.input.keyboard.repeat_delay = 100;
    config.input.keyboard.layout = "de".into();
    host.server.state.set_config(&config).unwrap();
    client.roundtrip(&mut host);
    assert_eq!((client.events.desk.repeat, client.events.desk.keymaps), (Some((0, 100)), 2));
}

#[test]
fn configuration_with_an_unknown_layout_or_key_is_refused_and_the_old_one_stays() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    client.roundtrip(&mut host);
    let mut config = Config::default();
    config.input.keyboard.layout = "no-such-layout".into();
    config.bindings.bind("Super+no-such-key".parse().unwrap(), "quit".parse().unwrap());
    let errors = host.server.state.set_config(&config).unwrap_err();
    assert!(matches!(&errors[..], [ConfigError::Keymap { .. }, ConfigError::Key { .. }]), "{errors:?}");
    client.roundtrip(&mut host);
    assert_eq!(client.events.desk.keymaps, 1);
    host.key(KEY_LEFTMETA, Press::Pressed);
    host.key(KEY_LEFTSHIFT, Press::Pressed);
    host.key(KEY_E, Press::Pressed);
    assert!(host.server.state.events.contains(&Asked::Quit), "the old bindings hold");
}

#[test]
fn key_goes_to_the_focused_client_alone_and_focus_follows_a_click() {
    let (mut host, mut client) = host();
    let mut other = host.connect();
    let (_seat, _other_seat) = (Seat::new(&client), Seat::new(&other));
    let left = Window::mapped(&mut host, &mut client, 100, 100);
    host.act("move 0 0");
    let _right = Window::mapped(&mut host, &mut other, 100, 100);
    client.take_input();
    other.take_input();
    host.key(KEY_A, Press::Pressed);
    host.key(KEY_A, Press::Released);
    client.roundtrip(&mut host);
    other.roundtrip(&mut host);
    assert_eq!(keys(&other.take_input()), [(KEY_A, true), (KEY_A, false)]);
    assert_eq!(keys(&client.take_input()), []);
    host.click(10.0, 10.0);
    host.key(KEY_A, Press::Pressed);
    client.roundtrip(&mut host);
    other.roundtrip(&mut host);
    let input = client.take_input();
    assert!(input.contains(&Input::KeyEnter(left.surface.id())));
    assert_eq!(keys(&input), [(KEY_A, true)]);
    assert_eq!(keys(&other.take_input()), []);
}

#[test]
fn binding_is_done_and_its_keys_are_kept_from_clients() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 100, 100);
    client.take_input();
    host.key(KEY_LEFTMETA, Press::Pressed);
    host.key(KEY_Q, Press::Pressed);
    host.key(KEY_LEFTMETA, Press::Released);
    host.key(KEY_Q, Press::Released);
    client.roundtrip(&mut host);
    assert!(window.told(&client).closed);
    assert_eq!(keys(&client.take_input()), [(KEY_LEFTMETA, true), (KEY_LEFTMETA, false)]);
}

#[test]
fn cycle_while_the_modifier_is_held_walks_back_through_the_windows() {
    let (mut host, mut client) = host();
    for _ in 0..3 {
        Window::mapped(&mut host, &mut client, 100, 100);
    }
    let focused = |host: &crate::Host| host.server.state.windows().find(|w| w.focused).unwrap().id.0;
    let tab = |host: &mut crate::Host| {
        host.key(KEY_TAB, Press::Pressed);
        host.key(KEY_TAB, Press::Released);
    };
    host.key(KEY_LEFTMETA, Press::Pressed);
    tab(&mut host);
    assert_eq!(focused(&host), 2);
    tab(&mut host);
    assert_eq!(focused(&host), 1);
    host.key(KEY_LEFTMETA, Press::Released);
    host.key(KEY_LEFTMETA, Press::Pressed);
    tab(&mut host);
    host.key(KEY_LEFTMETA, Press::Released);
    assert_eq!(focused(&host), 3, "the last used before");
}

#[test]
fn keyboard_lost_releases_every_key_and_modifier() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    Window::mapped(&mut host, &mut client, 100, 100);
    client.take_input();
    host.key(KEY_LEFTSHIFT, Press::Pressed);
    host.key(KEY_A, Press::Pressed);
    host.input(Event::KeyboardLost);
    // The host tells of releases that it kept to itself: nothing comes of them.
    host.key(KEY_A, Press::Released);
    client.roundtrip(&mut host);
    let input = client.take_input();
    let mut last = keys(&input).split_off(2);
    last.sort_unstable();
    assert_eq!(last, [(KEY_A, false), (KEY_LEFTSHIFT, false)]);
    let modifiers = |input: &&Input| matches!(input, Input::Modifiers(_));
    assert_eq!(input.iter().rfind(modifiers), Some(&Input::Modifiers(0)));
}

#[test]
fn layout_of_another_script_still_has_the_bindings() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 100, 100);
    let mut config = Config::default();
    config.input.keyboard.layout = "ru,us".into();
    host.server.state.set_config(&config).unwrap();
    host.key(KEY_LEFTMETA, Press::Pressed);
    host.key(KEY_Q, Press::Pressed);
    client.roundtrip(&mut host);
    assert!(window.told(&client).closed);
}

struct Typist {
    keyboard: zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1,
}

/// A keymap with A on the key that has Q elsewhere.
const KEYMAP: &str = r#"xkb_keymap {
xkb_keycodes "t" { minimum = 8; maximum = 255; <AD01> = 24; <LFSH> = 50; };
xkb_types "t" { include "complete" };
xkb_compatibility "t" { include "complete" };
xkb_symbols "t" {
    key <AD01> { [ a, A ] };
    key <LFSH> { [ Shift_L ] };
    modifier_map Shift { <LFSH> };
};
};"#;

impl Typist {
    fn new(client: &Client, seat: &Seat) -> Self {
        let manager: zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1 = client.bind();
        Self { keyboard: manager.create_virtual_keyboard(&seat.seat, &client.handle, ()) }
    }

    fn keymap(&self, text: &str, size: u32) {
        let file = memory(MFdFlags::empty(), text.len() as i64);
        nix::sys::uio::pwrite(&file, text.as_bytes(), 0).unwrap();
        self.keyboard.keymap(1, file.as_fd(), size);
    }
}

#[test]
fn virtual_keyboard_types_with_its_own_keymap_and_the_real_one_comes_back() {
    let (mut host, mut client) = host();
    let mut tool = host.connect();
    let (_seat, tool_seat) = (Seat::new(&client), Seat::new(&tool));
    Window::mapped(&mut host, &mut client, 100, 100);
    client.take_input();
    let before = client.events.desk.keymaps;
    let typist = Typist::new(&tool, &tool_seat);
    typist.keymap(KEYMAP, KEYMAP.len() as u32);
    typist.keyboard.modifiers(SHIFT, 0, 0, 0);
    typist.keyboard.key(0, KEY_Q, 1);
    typist.keyboard.key(0, KEY_Q, 0);
    typist.keyboard.modifiers(0, 0, 0, 0);
    tool.roundtrip(&mut host);
    client.roundtrip(&mut host);
    let input = client.take_input();
    assert_eq!(client.events.desk.keymaps, before + 1);
    assert_eq!(keys(&input), [(KEY_Q, true), (KEY_Q, false)]);
    let at = |wanted: &Input| input.iter().position(|input| input == wanted);
    assert!(at(&Input::Modifiers(SHIFT)) < at(&Input::Key(KEY_Q, true)), "{input:?}");
    assert_eq!(input.last(), Some(&Input::Modifiers(0)));
    host.key(KEY_A, Press::Pressed);
    client.roundtrip(&mut host);
    assert_eq!(client.events.desk.keymaps, before + 2, "the real keyboard's own");
    assert_eq!(keys(&client.take_input()), [(KEY_A, true)]);
}

#[test]
fn virtual_keyboard_that_goes_lets_go_of_its_keys_alone() {
    let (mut host, mut client) = host();
    let mut tool = host.connect();
    let (_seat, tool_seat) = (Seat::new(&client), Seat::new(&tool));
    Window::mapped(&mut host, &mut client, 100, 100);
    host.key(KEY_A, Press::Pressed);
    client.roundtrip(&mut host);
    client.take_input();
    let typist = Typist::new(&tool, &tool_seat);
    typist.keymap(KEYMAP, KEYMAP.len() as u32);
    typist.keyboard.key(0, KEY_Q, 1);
    tool.roundtrip(&mut host);
    drop(tool);
    host.dispatch();
    client.roundtrip(&mut host);
    assert_eq!(keys(&client.take_input()), [(KEY_Q, true), (KEY_Q, false)]);
}

#[test]
fn virtual_keyboard_can_do_what_is_bound() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let typist = Typist::new(&client, &seat);
    let keymap = {
        use smithay::input::keyboard::xkb;
        let context = xkb::Context::new(xkb::CONTEXT_NO_FLAGS);
        let keymap = xkb::Keymap::new_from_names(&context, "", "", "us", "", None, xkb::KEYMAP_COMPILE_NO_FLAGS);
        keymap.unwrap().get_as_string(xkb::KEYMAP_FORMAT_TEXT_V1)
    };
    typist.keymap(&keymap, keymap.len() as u32);
    for (code, state) in [(KEY_LEFTMETA, 1), (KEY_LEFTSHIFT, 1), (KEY_E, 1), (KEY_E, 0)] {
        typist.keyboard.key(0, code, state);
    }
    client.roundtrip(&mut host);
    assert!(host.server.state.events.contains(&Asked::Quit));
}

#[test]
fn virtual_keyboard_without_a_keymap_or_with_a_false_one_is_an_error_and_no_crash() {
    for (text, size) in [("", 0), ("", 4096), (KEYMAP, 1 << 30), ("no keymap", 9), (KEYMAP, 50), (KEYMAP, 1 << 16)] {
        let (mut host, mut client) = host();
        let seat = Seat::new(&client);
        let typist = Typist::new(&client, &seat);
        typist.keymap(text, size);
        client.roundtrip(&mut host);
        typist.keyboard.key(0, KEY_A, 1);
        let error = client.expect_error(&mut host);
        let code = zwp_virtual_keyboard_v1::Error::NoKeymap as u32;
        assert_eq!(error, ("zwp_virtual_keyboard_v1".into(), code), "{size}");
    }
}

#[test]
fn virtual_keyboard_with_a_key_that_cannot_be_is_not_heeded() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    Window::mapped(&mut host, &mut client, 100, 100);
    let typist = Typist::new(&client, &seat);
    typist.keymap(KEYMAP, KEYMAP.len() as u32);
    for code in [0x300, u32::MAX, u32::MAX - 7] {
        typist.keyboard.key(0, code, 1);
        typist.keyboard.modifiers(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
    }
    client.roundtrip(&mut host);
    assert_eq!(keys(&client.take_input()), []);
}

#[test]
fn layout_next_is_told_and_survives_a_virtual_keyboard() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    Window::mapped(&mut host, &mut client, 100, 100);
    let mut config = Config::default();
    config.input.keyboard.layout = "us,de".into();
    host.server.state.set_config(&config).unwrap();
    client.roundtrip(&mut host);
    client.take_input();
    host.act("layout-next");
    client.roundtrip(&mut host);
    assert_eq!(client.events.desk.group, 1);
    let typist = Typist::new(&client, &seat);
    typist.keymap(KEYMAP, KEYMAP.len() as u32);
    typist.keyboard.key(0, KEY_Q, 1);
    typist.keyboard.key(0, KEY_Q, 0);
    client.roundtrip(&mut host);
    host.key(KEY_A, Press::Pressed);
    client.roundtrip(&mut host);
    assert_eq!(client.events.desk.group, 1);
}
