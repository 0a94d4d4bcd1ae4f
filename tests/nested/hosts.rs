//! Hosts that resize the window all the time, that are themselves nested, and that die.

use nix::sys::signal::Signal;

use crate::spread::spread;
use crate::support::compositor::{Compositor, Setup};
use crate::support::process::{Process, until};
use crate::weston::Weston;
use crate::xvfb::Xvfb;
use crate::{INNER, SIZE, alone, colored, has_size, nested, place, seen, terminal, there, type_into};

/// Sizes in a row.
const STEPS: i32 = 50;

#[test]
fn window_of_x_resized_fifty_times_in_a_row_shows_the_right_picture() {
    let _alone = alone();
    if !there("nested on X: resizes", &["Xvfb", "foot"]) {
        return;
    }
    let host = Xvfb::start();
    let session = nested("DISPLAY", &host.display);
    let window = host.window("Transom");
    let (_terminal, _) = terminal(&session);
    place(&session);
    for step in 0..STEPS {
        let (width, height) = (950 - step * 6, 460 + step * 5);
        host.resize(window, width as u32, height as u32);
        has_size(&session, (width, height)); // so that each has its swapchain
    }
    let inner = colored(INNER, 100_000, || host.picture());
    seen(&session, inner, || host.picture());
    until("a picture of the last size", || {
        let inner = spread(&host.picture(), INNER)?;
        ((inner.w, inner.h) == (656, 705)).then_some(())
    });
    session.quit();
}

#[test]
fn window_of_transom_resized_fifty_times_in_a_row_shows_the_right_picture() {
    let _alone = alone();
    if !there("nested on Transom: resizes", &["foot"]) {
        return;
    }
    let outer = Compositor::start(&Setup { outputs: &["1024x768@60"], ..Setup::default() });
    let session = nested("WAYLAND_DISPLAY", outer.wayland().to_str().unwrap());
    let (_terminal, _) = terminal(&session);
    place(&session);
    for step in 0..STEPS {
        outer.action("toggle-maximised");
        let size = if step % 2 == 0 { (1024, 768) } else { SIZE };
        has_size(&session, size);
        // What a window was before it is maximised goes by what it shows, which comes a frame later.
        outer.until_window("a window of that size", |window| window.geometry[2..] == [size.0, size.1]);
    }
    let inner = until("a picture of the last size", || {
        spread(&outer.screenshot(), INNER).filter(|inner| (inner.w, inner.h) == SIZE)
    });
    seen(&session, inner, || outer.screenshot());
    session.quit();
    outer.quit();
}

/// Weston's pointer and its own ways to resize a window are left out: in a window of X, its version 10 may miss where the
/// pointer is as it starts, and its software renderer crashes at times while a window is resized by hand.
#[test]
fn client_inside_a_window_of_weston_is_typed_into() {
    let _alone = alone();
    if !there("nested on weston: keyboard", &["Xvfb", "weston", "foot"]) {
        return;
    }
    let x = Xvfb::start();
    let weston = Weston::start_on(&x.display);
    x.focus(x.only_window());
    let session = nested("WAYLAND_DISPLAY", weston.socket.to_str().unwrap());
    let inner = colored(INNER, 400_000, || x.picture());
    assert_eq!((inner.w, inner.h), SIZE);
    let (_foot, typed) = terminal(&session);
    seen(&session, inner, || x.picture());
    type_into(&typed, |code, down| x.key(code, down));
    session.quit();
}

/// A client that draws all the time, once it is on screen.
fn drawing(session: &Compositor) -> Process {
    let client = Process::start("weston-simple-shm", &mut session.client("weston-simple-shm"));
    place(session);
    client
}

/// Kills the host while frames are on their way to it.
fn dies(session: Compositor, host: &Process, name: &str) {
    let _client = drawing(&session);
    let said = session.quit_by(|_| host.signal(Signal::SIGKILL));
    let told = said.iter().any(|line| line.contains("the host is gone") && line.contains(name));
    assert!(told, "{said:#?}");
}

#[test]
fn host_of_wayland_that_dies_is_named_and_all_ends_in_order() {
    let _alone = alone();
    if !there("nested on weston: death", &["weston", "weston-simple-shm"]) {
        return;
    }
    let host = Weston::start();
    let socket = host.socket.to_str().unwrap();
    dies(nested("WAYLAND_DISPLAY", socket), &host.process, socket);
}

#[test]
fn host_of_x_that_dies_is_named_and_all_ends_in_order() {
    let _alone = alone();
    if !there("nested on X: death", &["Xvfb", "weston-simple-shm"]) {
        return;
    }
    let host = Xvfb::start();
    dies(nested("DISPLAY", &host.display), &host.process, &host.display);
}
