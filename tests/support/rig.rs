//! What a test may ask of the machine that it runs on: programs, and the driver rig (`tests/rig/README.md`).
//!
//! A test that cannot run returns early after `skip` (the machine has no such thing: a kernel device, a GPU) or `missing`
//! (the rig should have had it: a program, a layer). `./dev test` counts both as skipped, not as passed; with `CI=true`
//! the second is a failure, so that no check disappears unseen.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Says that this test cannot run on this machine, whose kernel or hardware lacks something.
#[expect(clippy::print_stdout, reason = "a test speaks on its standard output")]
pub(crate) fn skip(subject: &str, reason: &str) {
    let line = format!("SKIPPED: {subject}: {reason}\n");
    print!("{line}"); // kept by the harness; the list below is what `./dev test` counts
    if let Some(path) = std::env::var_os("TRANSOM_SKIPPED") {
        let list = std::fs::OpenOptions::new().append(true).create(true).open(path);
        list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of skipped tests takes a line");
    }
}

/// Says that this test cannot run because the rig lacks something that `./dev test` installs.
///
/// # Panics
/// With `CI=true`.
pub(crate) fn missing(subject: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{subject}: {what} is missing from the rig");
    skip(subject, &format!("no {what}"));
}

/// Whether this program is on the path.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// The built `transom`, to be started on the driver that this test runs on.
pub(crate) fn transom() -> Command {
    on_driver(Path::new(env!("CARGO_BIN_EXE_transom")))
}

/// Starts `program` on the driver that this test runs on; a child gets the host's own otherwise.
pub(crate) fn on_driver(program: impl AsRef<OsStr>) -> Command {
    let wrapper = std::env::var_os("TRANSOM_WITH_DRIVER").zip(std::env::var_os("TRANSOM_DRIVER"));
    let Some((wrapper, driver)) = wrapper else { return Command::new(program) };
    let mut command = Command::new(wrapper);
    command.arg(driver).arg(program);
    command
}
