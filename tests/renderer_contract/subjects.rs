//! The renderers under test.

use transom::adapters::vulkan::{Bindless, NewError, Options, Transfers, Upload, Vulkan};
use transom::domain::frame::Holdings;
use transom::ports::renderer::{Pixels, Renderer};

use crate::support::picture::differences;
use crate::support::reference::Reference;
use crate::support::stage::settle;

/// How far a channel may be from the reference, in 255ths: one for rounding, one for the filter's precision.
pub(crate) const TOLERANCE: u8 = 2;

/// Runs `test` on each renderer that this machine has, each time on a new one, which must hold nothing when it is done.
pub(crate) fn each(test: impl Fn(&mut dyn Renderer)) {
    let mut renderer = Reference::new();
    run("reference", &mut renderer, &test);
    for (name, options) in modes() {
        let mut vulkan = match Vulkan::new(&Options { validation: true, ..options }) {
            Ok(vulkan) => vulkan,
            Err(NewError::Lacking { missing, .. }) => {
                eprintln!("not on vulkan, {name}: the device lacks {missing}");
                continue;
            }
            Err(error) => panic!("vulkan, {name}: {error}"),
        };
        run(name, &mut vulkan, &test);
        assert_eq!(vulkan.validation_messages(), (0, Vec::new()), "vulkan, {name}");
    }
}

/// Between them they take each of the adapter's paths.
fn modes() -> [(&'static str, Options); 4] {
    let options = |bindless, upload, transfers| Options { bindless, upload, transfers, ..Options::default() };
    [
        ("vulkan, as the device suggests", Options::default()),
        ("vulkan, all drawn", options(Bindless::Off, Upload::Staging, Transfers::Never)),
        ("vulkan, bindless", options(Bindless::On, Upload::Staging, Transfers::Always)),
        ("vulkan, host copies", options(Bindless::Off, Upload::HostCopy, Transfers::Never)),
    ]
}

fn run(name: &str, renderer: &mut dyn Renderer, test: &impl Fn(&mut dyn Renderer)) {
    eprintln!("on {name}:");
    let before = held(renderer);
    test(renderer);
    settle(renderer);
    renderer.drain(&mut |_| ()).expect("a drain");
    assert_eq!(held(renderer), before, "{name}: held after everything was given back");
}

/// What must be back at its baseline; staging memory and pooled objects may stay for the next client.
fn held(renderer: &dyn Renderer) -> Holdings {
    Holdings { staging_bytes: 0, vulkan_objects: 0, ..renderer.holdings() }
}

/// Fails where two pictures differ by more than `tolerance`.
#[track_caller]
pub(crate) fn assert_alike(actual: &Pixels, expected: &Pixels, tolerance: u8, what: &str) {
    if let Some(difference) = differences(actual, expected, tolerance, |_| true) {
        panic!("{what}: {difference}");
    }
}
