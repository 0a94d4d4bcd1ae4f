//! Programs that a test starts: their output line by line, every wait bounded, and an end with the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// For what takes a moment, on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Looks at `what` until it is there; `None` after [`PATIENCE`].
pub(crate) fn wait_for<T>(mut what: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(it) = what() {
            return Some(it);
        }
        if start.elapsed() >= PATIENCE {
            return None;
        }
        thread::sleep(Duration::from_millis(30));
    }
}

/// Looks at `what` until it is there.
///
/// # Panics
/// After [`PATIENCE`], with the description.
pub(crate) fn until<T>(description: &str, what: impl FnMut() -> Option<T>) -> T {
    wait_for(what).unwrap_or_else(|| panic!("{description}: not within {PATIENCE:?}"))
}

/// Takes the desktop that the test itself may run on out of a program's environment.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    for variable in [
        "WAYLAND_DISPLAY",
        "WAYLAND_SOCKET",
        "WAYLAND_DEBUG",
        "DISPLAY",
        "TRANSOM_SOCKET",
        "TRANSOM_CONFIG",
        "TRANSOM_LOG",
        "XCURSOR_PATH",
        "XCURSOR_THEME",
        "XKB_DEFAULT_LAYOUT",
    ] {
        command.env_remove(variable);
    }
    command
}

/// A program running, with all that it starts in a process group of its own.
pub(crate) struct Process {
    name: String,
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Process {
    /// Starts it; both its outputs are read.
    pub(crate) fn start(name: &str, command: &mut Command) -> Self {
        use std::os::unix::process::CommandExt;
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = piped.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (sender, lines) = channel();
        read(child.stdout.take().unwrap(), sender.clone());
        read(child.stderr.take().unwrap(), sender);
        Self { name: name.to_owned(), child, lines, said: Vec::new() }
    }

    /// The first line, from the next unread one on, in which `find` finds something.
    ///
    /// # Panics
    /// After [`PATIENCE`], or where the program ends before.
    pub(crate) fn line<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => panic!("{}: did not say it within {PATIENCE:?}", self.name),
                Err(RecvTimeoutError::Disconnected) => panic!("{}: ended without saying it", self.name),
            };
            let found = find(&line);
            self.said.push(line);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// All that it said so far.
    pub(crate) fn said(&mut self) -> &[String] {
        self.said.extend(self.lines.try_iter());
        &self.said
    }

    /// All that it said, once it ended: to the last line.
    pub(crate) fn all_said(&mut self) -> &[String] {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.said.push(line);
        }
        &self.said
    }

    /// How it ended; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Its end.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    pub(crate) fn end(&mut self) -> ExitStatus {
        let Self { name, child, .. } = self;
        until(&format!("the end of {name}"), || child.try_wait().unwrap())
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, alone of its group.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }
}

fn read(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        // Ends when the program closes it; nobody listening any more ends it, too.
        BufReader::new(from).lines().map_while(Result::ok).try_for_each(|line| to.send(line))
    });
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32);
        let _ = killpg(group, Signal::SIGCONT);
        let _ = killpg(group, Signal::SIGTERM);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) && !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = killpg(group, Signal::SIGKILL); // what outlived its leader, too
        let _ = self.child.wait();
        if thread::panicking() {
            let said = self.said().join("\n");
            eprintln!("--- {} said:\n{said}", self.name);
        }
    }
}
