//! A Wayland host of another make, without a screen, where it has no seat and takes none from clients (it knows no
//! virtual keyboard or pointer): pictures only. In a window of an X server's, the server's hands are its own.

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
        Self::start_as("headless", (1024, 768), None)
    }

    /// Starts it in a window of 1000×750 of the X server at `display`; its pictures are the server's.
    pub(crate) fn start_on(display: &str) -> Self {
        Self::start_as("x11", (1000, 750), Some(display))
    }

    fn start_as(backend: &str, (width, height): (u32, u32), display: Option<&str>) -> Self {
        let directory = tempfile::Builder::new().prefix("transom-weston-").tempdir().unwrap();
        let socket = directory.path().join(SOCKET);
        // It draws only where told to; the switch has another name from version 12 on.
        let version = Command::new("weston").arg("--version").output().unwrap().stdout;
        let version = String::from_utf8_lossy(&version);
        let major: u32 = version.trim_start_matches("weston ").split('.').next().unwrap().trim().parse().unwrap();
        let pixman = if major < 12 { "--use-pixman" } else { "--renderer=pixman" };
        let backend = format!("--backend={backend}{}", if major < 12 { "-backend.so" } else { "" });
        let config = directory.path().join("weston.ini");
        std::fs::write(&config, "[shell]\npanel-position=none\nanimation=none\nstartup-animation=none\n").unwrap();
        let mut command = Command::new("weston");
        command.args([&*backend, pixman, &format!("--width={width}"), &format!("--height={height}")]);
        command.args(["--idle-time=0", "--debug"]);
        command.args([&format!("--socket={SOCKET}"), &format!("--config={}", config.display())]);
        clean(&mut command).env("XDG_RUNTIME_DIR", directory.path()).envs(display.map(|display| ("DISPLAY", display)));
        let process = Process::start("weston", &mut command);
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
