//! The command line: chooses adapters and runs.
//!
//! [`args`] says what can be asked, one module each does it: [`run`] starts the compositor, [`msg`] talks to a running
//! one, [`doctor`] looks at the machine. Everything else is the library's.

#[path = "main/args.rs"]
mod args;
#[path = "main/doctor.rs"]
mod doctor;
#[path = "main/msg.rs"]
mod msg;
#[cfg(test)]
#[path = "main/resources.rs"]
mod resources;
#[path = "main/run.rs"]
mod run;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let mut out = io::stdout().lock();
    let done = match Cli::parse().command {
        Command::Msg(args) => msg::msg(args, &mut out).map(|()| ExitCode::SUCCESS),
        Command::Screenshot(args) => msg::screenshot(args, &mut out).map(|()| ExitCode::SUCCESS),
        Command::Run(args) => run::run(args),
        Command::Doctor(args) => doctor::doctor(args, &mut out).map(|()| ExitCode::SUCCESS),
    };
    match done.and_then(|code| Ok(out.flush().map(|()| code)?)) {
        Ok(code) => code,
        // Whoever read our output has read enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "transom: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of = |kind: Option<io::ErrorKind>| kind == Some(io::ErrorKind::BrokenPipe);
    of(error.downcast_ref::<io::Error>().map(io::Error::kind))
        || of(error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind))
}
