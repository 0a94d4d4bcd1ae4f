//! A Wayland host of another make, without a screen. It has no seat: pictures only.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use transom::ports::renderer::Pixels;

use crate::support::picture::read_png;
use crate::support::process::{Process, clean, until};

const SOCKET: &str = "weston-host";

/// See the module's docs.
pub(crate) struct Weston {
    pub(crate) process: Process,
    directory: TempDir,
    /// The path of its socket.
    pub(crate) socket: PathBuf,
}

impl Weston {
    /// Starts it with a screen of 1024×768.
    pub(crate) fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("transom-weston-").tempdir().unwrap();
        let socket = directory.path().join(SOCKET);
        // It draws only where told to; the switch has another name from version 12 on.
        let version = Command::new("weston").arg("--version").output().unwrap().stdout;
        let version = String::from_utf8_lossy(&version);
        let major: u32 = version.trim_start_matches("weston ").split('.').next().unwrap().trim().parse().unwrap();
        let pixman = if major < 12 { "--use-pixman" } else { "--renderer=pixman" };
        let backend = if major < 12 { "--backend=headless-backend.so" } else { "--backend=headless" };
        let config = directory.path().join("weston.ini");
        std::fs::write(&config, "[shell]\npanel-position=none\nanimation=none\nstartup-animation=none\n").unwrap();
        let mut command = Command::new("weston");
        command.args([backend, pixman, "--width=1024", "--height=768", "--idle-time=0", "--debug"]);
        command.args([&format!("--socket={SOCKET}"), &format!("--config={}", config.display())]);
        let process = Process::start("weston", clean(&mut command).env("XDG_RUNTIME_DIR", directory.path()));
        until("weston's socket", || socket.exists().then_some(()));
        Self { process, directory, socket }
    }

    /// What is on its screen.
    pub(crate) fn picture(&self) -> Pixels {
        let shots = self.directory.path().join("shots");
        let _ = std::fs::remove_dir_all(&shots);
        std::fs::create_dir(&shots).unwrap();
        let mut command = Command::new("weston-screenshooter");
        let set = clean(&mut command).env("XDG_RUNTIME_DIR", self.directory.path()).env("WAYLAND_DISPLAY", SOCKET);
        let status = set.env("XDG_PICTURES_DIR", &shots).current_dir(&shots).status().unwrap();
        assert!(status.success(), "weston-screenshooter: {status}");
        let file = std::fs::read_dir(&shots).unwrap().next().expect("a picture").unwrap().path();
        read_png(&file).expect("a picture")
    }
}
