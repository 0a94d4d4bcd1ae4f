//! The renderers under test: the CPU reference, and the Vulkan adapter in modes that between them take each of its
//! paths, always under the validation layers, of which no message is forgiven.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use transom::adapters::vulkan::{Bindless, NewError, Options, Transfers, Upload, Vulkan};
use transom::ports::renderer::Renderer;

use super::reference::Reference;
use super::rig;

/// How far a channel of the adapter's may be from the reference's, in 255ths: one for rounding, one for the precision
/// of the filter.
pub(crate) const TOLERANCE: u8 = 2;

/// The adapter's modes, by a name that fits a file's.
fn modes() -> [(&'static str, Options); 5] {
    let mode =
        |bindless, upload, transfers| Options { bindless, upload, transfers, validation: true, ..Options::default() };
    [
        ("vulkan", mode(Bindless::Auto, Upload::Auto, Transfers::Auto)),
        ("vulkan-drawn", mode(Bindless::Off, Upload::Staging, Transfers::Never)),
        ("vulkan-transferred", mode(Bindless::Off, Upload::Staging, Transfers::Always)),
        ("vulkan-bindless", mode(Bindless::On, Upload::Staging, Transfers::Never)),
        ("vulkan-bindless-host-copy", mode(Bindless::On, Upload::HostCopy, Transfers::Always)),
    ]
}

/// Runs `test` on each renderer that this machine has, each time on a new one.
pub(crate) fn each(mut test: impl FnMut(&str, &mut dyn Renderer)) {
    test("reference", &mut Reference::new());
    for (name, options) in modes() {
        let Some(mut vulkan) = vulkan(name, &options) else { continue };
        let messages = vulkan.messages();
        test(name, &mut vulkan);
        drop(vulkan);
        assert_eq!(Arc::strong_count(&messages), 1, "{name}: something still holds on to the instance");
        assert_eq!(messages.texts(), Vec::<String>::new(), "{name}: the validation layers speak");
    }
}

/// The adapter in one mode; `None`, counted as skipped once, where this machine lacks what it takes.
fn vulkan(name: &'static str, options: &Options) -> Option<Vulkan> {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let error = match Vulkan::new(options) {
        Ok(vulkan) => return Some(vulkan),
        Err(error) => error,
    };
    if TOLD.lock().expect("no other holder panics").insert(name) {
        match &error {
            // Devices differ in these.
            NewError::Lacking { .. } => rig::skip(name, &error.to_string()),
            NewError::Loader(_) | NewError::ValidationMissing | NewError::NoDevice { .. } => {
                rig::missing(name, &error.to_string());
            }
            _ => panic!("{name}: {error:?}"),
        }
    }
    None
}
