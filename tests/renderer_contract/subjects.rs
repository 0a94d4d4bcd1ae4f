//! One contract test, on every renderer.

use transom::domain::frame::Holdings;
use transom::ports::renderer::{Pixels, Renderer};

use crate::support::picture::differences;
use crate::support::renderers;
pub(crate) use crate::support::renderers::TOLERANCE;
use crate::support::stage::settle;

/// Runs `test` on each renderer that this machine has, each time on a new one, which must hold nothing when it is done.
pub(crate) fn each(test: impl Fn(&mut dyn Renderer)) {
    renderers::each(|name, renderer| {
        eprintln!("on {name}:");
        let before = held(renderer);
        test(renderer);
        settle(renderer);
        renderer.drain(&mut |_| ()).expect("a drain");
        assert_eq!(held(renderer), before, "{name}: held after everything was given back");
    });
}

/// What must be back at its baseline; staging memory and pooled objects may stay for the next client.
fn held(renderer: &dyn Renderer) -> Holdings {
    Holdings { staging_bytes: 0, semaphores: 0, vulkan_objects: 0, ..renderer.holdings() }
}

/// Fails where two pictures differ by more than `tolerance`.
#[track_caller]
pub(crate) fn assert_alike(actual: &Pixels, expected: &Pixels, tolerance: u8, what: &str) {
    if let Some(difference) = differences(actual, expected, tolerance, |_| true) {
        panic!("{what}: {difference}");
    }
}
