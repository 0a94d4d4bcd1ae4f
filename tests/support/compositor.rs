//! The built `transom` as a test's subject: started in a runtime directory of its own with the validation layers on,
//! headless unless it is told otherwise, asked through its own command line, ended as a user would end it.
//!
//! [`Compositor::quit`] is part of the test: exit status 0, no word from the validation layers, nothing logged as our own
//! fault. A test that fails before leaves no process behind and shows what the compositor said.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use transom::adapters::ipc::protocol::{Objects, Output, Stats, Window};
use transom::ports::renderer::Pixels;

use super::picture;
use super::process::{Process, clean, until, wait_for};
use super::rig;

/// The name of its Wayland socket.
const SOCKET: &str = "wayland-test";

/// How it is started.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    /// Where outputs and input come from.
    pub(crate) backend: &'a str,
    /// Variables that lead to its host.
    pub(crate) host: &'a [(&'a str, &'a str)],
    /// Each output's mode.
    pub(crate) outputs: &'a [&'a str],
    /// Lines of compositor.toml beside `renderer.validation`.
    pub(crate) config: &'a str,
}

impl Setup<'_> {
    /// The text of its compositor.toml.
    pub(crate) fn file(&self) -> String {
        format!("renderer.validation = true\n{}\n", self.config)
    }
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self { backend: "headless", host: &[], outputs: &["800x600@60"], config: "" }
    }
}

/// What must be gone once its client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    clients: u64,
    objects: Objects,
    textures: u64,
    texture_bytes: u64,
    retired_textures: u64,
    deferred_entries: u64,
    targets: u64,
    fds: u64,
}

impl Live {
    pub(crate) fn clients(&self) -> u64 {
        self.clients
    }
}

impl From<&Stats> for Live {
    fn from(stats: &Stats) -> Self {
        Self {
            clients: stats.clients,
            objects: stats.objects,
            textures: stats.holdings.live_imports,
            texture_bytes: stats.holdings.live_bytes,
            retired_textures: stats.holdings.retired_imports,
            deferred_entries: stats.holdings.deferred_entries,
            targets: stats.holdings.targets,
            fds: stats.fds,
        }
    }
}

/// See the module's docs.
pub(crate) struct Compositor {
    process: Process,
    runtime: TempDir,
}

impl Compositor {
    /// Starts it and waits until it answers, has shown a frame, and has made a picture (whose storage it then keeps).
    pub(crate) fn start(setup: &Setup<'_>) -> Self {
        let runtime = tempfile::Builder::new().prefix("transom-test-").tempdir().unwrap();
        let config = runtime.path().join("compositor.toml");
        std::fs::write(&config, setup.file()).unwrap();
        let mut command = rig::transom();
        command.args(["run", "--backend", setup.backend, "--socket", SOCKET, "--config"]).arg(&config);
        command.args(setup.outputs.iter().flat_map(|mode| ["--output", mode]));
        at_home(&mut command, runtime.path()).envs(setup.host.iter().copied());
        let process = Process::start(&format!("transom {}", setup.backend), &mut command);
        let mut compositor = Self { process, runtime };
        until("an answer of the compositor", || {
            compositor.check_alive();
            compositor.command(&["msg", "outputs"]).output().unwrap().status.success().then_some(())
        });
        until("the first frame", || compositor.stats().first_frame_ns);
        compositor.screenshot();
        compositor
    }

    /// A program to be started as its client, with nothing of the person's own configuration.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        at_home(&mut command, self.runtime.path()).env("WAYLAND_DISPLAY", SOCKET);
        command
    }

    /// The directory of its sockets, and its clients' home.
    pub(crate) fn directory(&self) -> &Path {
        self.runtime.path()
    }

    /// The path of its Wayland socket.
    pub(crate) fn wayland(&self) -> PathBuf {
        self.runtime.path().join(SOCKET)
    }

    /// The answer of a `transom msg`.
    fn ask<T: DeserializeOwned>(&self, message: &str) -> T {
        let answer = self.run(&["msg", "--json", message]);
        serde_json::from_slice(&answer).unwrap_or_else(|error| panic!("{message}: {error}"))
    }

    /// The windows, the one focused last first.
    pub(crate) fn windows(&self) -> Vec<Window> {
        self.ask("windows")
    }

    /// The outputs.
    pub(crate) fn outputs(&self) -> Vec<Output> {
        self.ask("outputs")
    }

    /// The counts.
    pub(crate) fn stats(&self) -> Stats {
        self.ask("stats")
    }

    /// What is alive now.
    pub(crate) fn live(&self) -> Live {
        Live::from(&self.stats())
    }

    /// Waits until nothing is alive beside what was then.
    pub(crate) fn until_live(&self, what: &str, then: Live) {
        let mut now = then;
        let gone = wait_for(|| {
            now = self.live();
            (now == then).then_some(())
        });
        assert!(gone.is_some(), "{what} left something behind: {now:#?}, not {then:#?}");
    }

    /// Waits until a window fits.
    pub(crate) fn until_window(&self, description: &str, fits: impl Fn(&Window) -> bool) -> Window {
        until(description, || self.windows().into_iter().find(|window| fits(window)))
    }

    /// Does what a key binding can.
    pub(crate) fn action(&self, action: &str) {
        let words: Vec<_> = ["msg", "action"].into_iter().chain(action.split(' ')).collect();
        self.run(&words);
    }

    /// What its only output, or all of them, show.
    pub(crate) fn screenshot(&self) -> Pixels {
        let file = self.runtime.path().join("screenshot.png");
        self.run(&["screenshot", file.to_str().unwrap()]);
        picture::read_png(&file).expect("a picture was written")
    }

    /// Ends it and checks that all was well from first to last.
    pub(crate) fn quit(self) {
        self.quit_by(|compositor| drop(compositor.run(&["msg", "quit"])));
    }

    /// As [`Compositor::quit`], where something else makes it end; all that it said.
    pub(crate) fn quit_by(mut self, end: impl FnOnce(&Self)) -> Vec<String> {
        let complaints = self.stats().total.validation_messages;
        end(&self);
        let status = self.process.end();
        let faults: Vec<_> = self.process.all_said().iter().filter(|line| is_fault(line)).cloned().collect();
        assert!(status.success(), "the compositor ended with {status}");
        let sockets = [SOCKET.to_owned(), format!("{SOCKET}.lock"), format!("transom-{SOCKET}.sock")];
        let left: Vec<_> = sockets.iter().filter(|name| self.runtime.path().join(name).exists()).collect();
        assert!(left.is_empty(), "the compositor left {left:?}");
        assert!(complaints == 0 && faults.is_empty(), "{complaints} validation messages; {faults:#?}");
        self.process.said().to_vec()
    }

    /// Bytes of memory that it has to itself and in use.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line of anonymous memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Whether the process is there.
    ///
    /// # Panics
    /// Where it is not.
    pub(crate) fn check_alive(&mut self) {
        if let Some(status) = self.process.ended() {
            panic!("the compositor ended with {status}");
        }
    }

    /// Its configuration file.
    pub(crate) fn config(&self) -> PathBuf {
        self.runtime.path().join("compositor.toml")
    }

    /// Our command line, as a client of this compositor: it draws nothing, so it runs on any driver.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.client(env!("CARGO_BIN_EXE_transom"));
        command.args(words);
        command
    }

    /// What our command line prints when all is well.
    pub(crate) fn run(&self, words: &[&str]) -> Vec<u8> {
        let answer = self.command(words).output().unwrap();
        let why = String::from_utf8_lossy(&answer.stderr);
        assert!(answer.status.success(), "transom {}: {} {why}", words.join(" "), answer.status);
        answer.stdout
    }
}

/// Our own fault, by the log's levels and by the words of the layers and of a panic.
fn is_fault(line: &str) -> bool {
    [" ERROR ", "VUID-", "SYNC-HAZARD", "panicked at"].iter().any(|word| line.contains(word))
}

/// Lets a program find nothing but the directory.
pub(crate) fn at_home<'a>(command: &'a mut Command, directory: &Path) -> &'a mut Command {
    clean(command).env("HOME", directory).env("XDG_RUNTIME_DIR", directory).env("NO_COLOR", "1");
    for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env_remove(variable);
    }
    // No desktop's services, and messages in English.
    command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:").env("LC_ALL", "C.UTF-8")
}
