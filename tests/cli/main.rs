//! The command line of the built `transom`: what it prints, what it says when it cannot, how it starts and ends.
//!
//! [`answers`]: `msg` and `screenshot`; [`refusals`]: wrong words, nobody there, nowhere to write; [`configuration`]:
//! compositor.toml at start and later; [`life`]: signals, sockets, the command that it starts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod configuration;
mod life;
mod refusals;
#[path = "../support/mod.rs"]
mod support;

use std::process::{Command, Output};

use support::compositor::at_home;
use support::rig;
use tempfile::TempDir;

/// A directory for sockets and files.
pub(crate) fn directory() -> TempDir {
    tempfile::Builder::new().prefix("transom-cli-").tempdir().unwrap()
}

/// `transom` with these words, on the driver, with nothing of a person's own around it.
pub(crate) fn transom(home: &TempDir, words: &[&str]) -> Command {
    let mut command = rig::transom();
    at_home(support::process::clean(&mut command), home.path()).args(words);
    command
}

/// Runs a command that must fail with this status: silent on its standard output, and its reason on the other.
pub(crate) fn refused(command: &mut Command, status: i32) -> String {
    let Output { status: ended, stdout, stderr } = command.output().unwrap();
    let why = String::from_utf8(stderr).unwrap();
    assert_eq!(ended.code(), Some(status), "{command:?}: {why}");
    assert!(stdout.is_empty(), "{command:?} prints {:?}", String::from_utf8_lossy(&stdout));
    assert!(!why.trim().is_empty(), "{command:?} gives no reason");
    why
}
