//! What the command line can say.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use transom::domain::action::FORMS;
use transom::domain::mode::Mode;

/// A Wayland compositor that renders with Vulkan, headless or in a window of another desktop.
#[derive(Debug, Parser)]
#[command(name = "transom", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the compositor
    Run(Run),
    /// Save what a running compositor shows as a PNG file
    Screenshot(Screenshot),
    /// Ask a running compositor, or tell it what to do
    Msg(Msg),
    /// Say what this machine offers to the compositor, and what to do about what it lacks
    Doctor(Doctor),
}

/// Where outputs and input come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// In a window where WAYLAND_DISPLAY or DISPLAY is set, else headless
    #[default]
    Auto,
    /// Outputs without a screen
    Headless,
    /// A window of another desktop
    Nested,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Where outputs and input come from
    #[arg(long, value_enum, default_value_t)]
    pub(crate) backend: Backend,
    /// An output's size and rate, e.g. 1920x1080@60; once for each headless output, or the window's size
    #[arg(long = "output", value_name = "WxH@HZ")]
    pub(crate) outputs: Vec<Mode>,
    /// The configuration file, before $TRANSOM_CONFIG and $XDG_CONFIG_HOME/transom/compositor.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The Wayland socket's name in $XDG_RUNTIME_DIR [default: the first free wayland-N, N from 1]
    #[arg(long, value_name = "NAME", value_parser = socket_name)]
    pub(crate) socket: Option<String>,
    /// Part of the Vulkan device's name, before the configuration's
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// End when COMMAND ends, with its exit status
    #[arg(long, requires = "child")]
    pub(crate) exit_with_child: bool,
    /// Started once clients can connect, with WAYLAND_DISPLAY and TRANSOM_SOCKET set
    #[arg(id = "child", value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Screenshot {
    /// One output by its name, instead of all as they lie on the desktop
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Option<String>,
    /// A part, in pixels of the whole picture
    #[arg(long, value_name = "X,Y,W,H", value_parser = part)]
    pub(crate) part: Option<[i32; 4]>,
    /// Print the picture's size as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to; `-` is the standard output
    #[arg(value_name = "FILE.png")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Msg {
    /// Print the answer as JSON, in the documented form
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) message: Message,
}

/// What to ask or tell.
#[derive(Debug, Subcommand)]
pub(crate) enum Message {
    /// List the outputs
    Outputs,
    /// List the windows, the one focused last first
    Windows,
    /// Count frames and what they cost
    Stats,
    /// Read the configuration again
    Reload,
    /// End the compositor
    Quit,
    /// Do what a key binding can, e.g. `action toggle-fullscreen 3`
    #[command(after_help = actions())]
    Action {
        /// The action and its arguments, as in compositor.toml
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Every action, for the help and the man page.
fn actions() -> String {
    let listed = FORMS.iter().map(|form| format!("\n  {form}")).collect::<String>();
    format!("Actions, a WINDOW being a number of `transom msg windows`, else the focused one:{listed}")
}

fn socket_name(text: &str) -> Result<String, String> {
    let good = !text.is_empty() && !text.contains('/') && !text.starts_with('.');
    good.then(|| text.to_owned()).ok_or_else(|| "write a name, not a path, e.g. wayland-7".to_owned())
}

fn part(text: &str) -> Result<[i32; 4], String> {
    let numbers: Vec<i32> = text
        .split(',')
        .map(|number| number.trim().parse().map_err(|_| format!("'{number}' is not a whole number")))
        .collect::<Result<_, _>>()?;
    let part: [i32; 4] = numbers.try_into().map_err(|_| "write X,Y,WIDTH,HEIGHT, e.g. 0,0,640,480".to_owned())?;
    if part[2] < 1 || part[3] < 1 {
        return Err("width and height are at least 1".to_owned());
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_takes_a_command_with_its_own_options() {
        let words = "transom run --output 800x600@30 --output 64x64 --exit-with-child -- foot --title x --json";
        let Command::Run(run) = Cli::try_parse_from(words.split(' ')).unwrap().command else { panic!() };
        assert_eq!(run.outputs.len(), 2);
        assert_eq!(run.command, ["foot", "--title", "x", "--json"]);
        assert!(Cli::try_parse_from(["transom", "run", "--exit-with-child"]).is_err(), "there is no child");
    }

    #[test]
    fn action_takes_negative_numbers() {
        let words = ["transom", "msg", "--json", "action", "move", "-5", "7"];
        let Command::Msg(msg) = Cli::try_parse_from(words).unwrap().command else { panic!() };
        assert!(msg.json);
        assert!(matches!(msg.message, Message::Action { words } if words == ["move", "-5", "7"]));
    }

    #[test]
    fn part_that_is_no_rectangle_is_refused() {
        assert_eq!(part("1, 2,3,4"), Ok([1, 2, 3, 4]));
        for text in ["", "1,2,3", "1,2,3,4,5", "1,2,0,4", "1,2,3,x", "1,2,3,99999999999"] {
            assert!(part(text).is_err(), "{text}");
        }
    }
}
