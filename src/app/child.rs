//! Programs that the compositor starts.
//!
//! They find the display and the control socket in their environment, get the descriptor limit back that the
//! compositor itself was started with, block no signal, and are reaped. One of them may be the one that the compositor
//! lives for.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::SigSet;

/// Raises the limit on open descriptors as far as allowed: every client buffer holds one. Call it once, at start.
/// Gives back the limit there was, for children.
pub fn raise_descriptor_limit() -> Option<DescriptorLimit> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => Some(DescriptorLimit { soft, hard }),
        Err(error) => {
            tracing::warn!(%error, soft, "the limit on open descriptors stays as it is");
            None
        }
    }
}

/// A limit on open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimit {
    soft: u64,
    hard: u64,
}

/// Every program started and not yet ended.
#[derive(Debug, Default)]
pub struct Children {
    /// Set for each, over what the compositor itself was given.
    environment: Vec<(OsString, OsString)>,
    limit: Option<DescriptorLimit>,
    running: Vec<Child>,
    /// The one that was started by the command line.
    main: Option<u32>,
    lives_for_main: bool,
}

impl Children {
    /// With what each child is given.
    pub fn new(environment: Vec<(OsString, OsString)>, limit: Option<DescriptorLimit>) -> Self {
        Self { environment, limit, ..Self::default() }
    }

    /// Whether the compositor ends with the main program.
    pub fn lives_for_main(&self) -> bool {
        self.lives_for_main
    }

    /// Starts the program that the command line names; it shares our terminal. With `live_for_it` the compositor ends
    /// when it does.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_main(&mut self, command: &[OsString], live_for_it: bool) -> io::Result<()> {
        let [program, arguments @ ..] = command else { return Ok(()) };
        let mut command = Command::new(program);
        command.args(arguments);
        self.main = Some(self.start(command)?);
        self.lives_for_main = live_for_it;
        Ok(())
    }

    /// Starts a program by its words, in a process group of its own, so that a Ctrl-C for us is not for it.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn spawn<S: AsRef<OsStr>>(&mut self, words: &[S]) -> io::Result<()> {
        let [program, arguments @ ..] = words else { return Ok(()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        self.start(command).map(drop)
    }

    fn start(&mut self, mut command: Command) -> io::Result<u32> {
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let limit = self.limit;
        let before_exec = move || -> io::Result<()> {
            // The loop takes signals through a descriptor and blocks them; a program expects none blocked.
            SigSet::empty().thread_set_mask()?;
            if let Some(DescriptorLimit { soft, hard }) = limit {
                setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec only async-signal-safe functions may be called; pthread_sigmask(3) and
        // setrlimit(2) are, and the closure neither allocates nor locks.
        unsafe {
            command.pre_exec(before_exec);
        }
        let child = command.spawn()?;
        let pid = child.id();
        tracing::debug!(pid, program = ?command.get_program(), "started");
        self.running.push(child);
        Ok(pid)
    }

    /// Reaps those that ended; gives the status of the main one where it is among them.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        let mut main = None;
        self.running.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                tracing::debug!(pid = child.id(), %status, "ended");
                if self.main == Some(child.id()) {
                    main = Some(status);
                }
                false
            }
            Err(error) => {
                tracing::error!(pid = child.id(), %error, "a child cannot be reaped");
                false
            }
        });
        if main.is_some() {
            self.main = None;
        }
        main
    }

    /// Asks the main program to end, where it runs.
    pub fn end_main(&mut self) {
        if let Some(pid) = self.main.take().and_then(|pid| i32::try_from(pid).ok()) {
            // It is ours and not reaped, so the number is still its own.
            if let Err(error) = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGTERM) {
                tracing::debug!(%error, "the command ended by itself");
            }
        }
    }
}

/// What a shell would make of it: the status, or 128 and the signal's number.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(children: &mut Children) -> ExitStatus {
        loop {
            if let Some(status) = children.reap() {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    fn words(text: &[&str]) -> Vec<OsString> {
        text.iter().map(OsString::from).collect()
    }

    #[test]
    fn child_gets_the_environment_and_the_old_descriptor_limit() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let environment = vec![("TRANSOM_TEST".into(), "here".into()), ("OUT".into(), out.clone().into())];
        let mut children = Children::new(environment, Some(DescriptorLimit { soft: 123, hard }));
        children.start_main(&words(&["sh", "-c", "echo $TRANSOM_TEST $(ulimit -n) >\"$OUT\"; exit 7"]), true).unwrap();
        assert_eq!(exit_code(wait(&mut children)), 7);
        assert_eq!(std::fs::read_to_string(out).unwrap(), "here 123\n");
        assert!(children.running.is_empty());
    }

    #[test]
    fn child_that_a_signal_ends_is_told_as_a_shell_would() {
        // As the loop does. This thread runs no other test.
        SigSet::from_iter([nix::sys::signal::SIGTERM, nix::sys::signal::SIGCHLD]).thread_block().unwrap();
        let mut children = Children::default();
        children.start_main(&words(&["sleep", "100"]), false).unwrap();
        let pid = children.main;
        children.end_main();
        children.main = pid;
        assert_eq!(exit_code(wait(&mut children)), 128 + 15);
    }

    #[test]
    fn program_that_does_not_exist_is_an_error_and_no_child() {
        let mut children = Children::default();
        assert!(children.start_main(&words(&["/nonexistent/program"]), true).is_err());
        assert!(children.spawn(&["/nonexistent/program"]).is_err());
        assert!(children.running.is_empty() && children.main.is_none());
    }
}
