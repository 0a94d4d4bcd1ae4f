//! What a person or a script can ask of the desktop: the right side of a key binding, the words after
//! `transom msg action`.
//!
//! An action is a word and its arguments. Actions on a window take an optional window number (as `transom msg windows`
//! prints it) and mean the focused window without one. Who carries them out: the desktop model, except
//! [`Action::Spawn`], [`Action::Reload`] and [`Action::Quit`], which are the application's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A window by its number; `None` is the focused one.
pub type Which = Option<u64>;

/// See the module's docs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Action {
    /// Does nothing; as a binding it removes a default one.
    None,
    /// Starts a program through `sh -c`.
    Spawn(String),
    /// Asks a window to close.
    Close(Which),
    /// Focuses and raises a window.
    Focus(u64),
    /// Focuses the next window of the workspace.
    FocusNext,
    /// Focuses the previous window of the workspace.
    FocusPrevious,
    /// Maximises a window, or undoes it.
    ToggleMaximised(Which),
    /// Makes a window fullscreen, or undoes it.
    ToggleFullscreen(Which),
    /// Hides a window until it is focused again.
    Minimise(Which),
    /// Shows a minimised window again; `None` is the one minimised last.
    Restore(Which),
    /// Moves a window's top left corner to a place of the desktop, logical pixels.
    Move {
        /// From the desktop's left edge.
        x: i32,
        /// From the desktop's top edge.
        y: i32,
        /// Which window.
        window: Which,
    },
    /// Gives a window another size, logical pixels.
    Resize {
        /// Width.
        w: i32,
        /// Height.
        h: i32,
        /// Which window.
        window: Which,
    },
    /// Shows a workspace, counted from 1, on the output under the pointer.
    Workspace(u32),
    /// Shows the workspace after this one.
    WorkspaceNext,
    /// Shows the workspace before this one.
    WorkspacePrevious,
    /// Sends a window to a workspace, counted from 1.
    MoveToWorkspace {
        /// Which workspace.
        workspace: u32,
        /// Which window.
        window: Which,
    },
    /// Focuses the output after this one.
    OutputNext,
    /// Focuses the output before this one.
    OutputPrevious,
    /// Sends a window to the output after its own.
    MoveToOutputNext(Which),
    /// Sends a window to the output before its own.
    MoveToOutputPrevious(Which),
    /// Uses the keyboard layout after this one.
    LayoutNext,
    /// Reads the configuration again.
    Reload,
    /// Ends the compositor.
    Quit,
}

/// Each action's form, as the documents give it.
pub const FORMS: [&str; 23] = [
    "none",
    "spawn COMMAND...",
    "close [WINDOW]",
    "focus WINDOW",
    "focus-next",
    "focus-previous",
    "toggle-maximised [WINDOW]",
    "toggle-fullscreen [WINDOW]",
    "minimise [WINDOW]",
    "restore [WINDOW]",
    "move X Y [WINDOW]",
    "resize W H [WINDOW]",
    "workspace N",
    "workspace-next",
    "workspace-previous",
    "move-to-workspace N [WINDOW]",
    "output-next",
    "output-previous",
    "move-to-output-next [WINDOW]",
    "move-to-output-previous [WINDOW]",
    "layout-next",
    "reload",
    "quit",
];

/// Why a text is no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The first word is none of [`FORMS`].
    #[error("no action '{0}'; there are: {list}", list = FORMS.join(", "))]
    Unknown(String),
    /// The arguments are not those of the action's form.
    #[error("'{text}' is not of the form '{form}'")]
    Arguments {
        /// What was given.
        text: String,
        /// What is wanted.
        form: &'static str,
    },
}

impl FromStr for Action {
    type Err = ActionError;

    fn from_str(text: &str) -> Result<Self, ActionError> {
        let text = text.trim();
        let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let form = FORMS.into_iter().find(|form| form.split(' ').next() == Some(verb));
        let form = form.ok_or_else(|| ActionError::Unknown(verb.to_owned()))?;
        parse(verb, rest.trim_start()).ok_or_else(|| ActionError::Arguments { text: text.to_owned(), form })
    }
}

impl TryFrom<String> for Action {
    type Error = ActionError;

    fn try_from(text: String) -> Result<Self, ActionError> {
        text.parse()
    }
}

impl From<Action> for String {
    fn from(action: Action) -> Self {
        action.to_string()
    }
}

/// `verb` is one of [`FORMS`]; `None` where the arguments do not fit.
fn parse(verb: &str, rest: &str) -> Option<Action> {
    if verb == "spawn" {
        return (!rest.is_empty()).then(|| Action::Spawn(rest.to_owned()));
    }
    let mut words = rest.split_whitespace();
    let mut number = || words.next().map(|word| word.parse::<i64>().map_err(drop)).transpose();
    let which = |n: Option<i64>| n.map(u64::try_from).transpose().ok();
    let workspace = |n: Option<i64>| n.and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0);
    let side = |n: Option<i64>| n.and_then(|n| i32::try_from(n).ok()).filter(|&n| n > 0);
    let place = |n: Option<i64>| n.and_then(|n| i32::try_from(n).ok());
    let action = match verb {
        "none" => Action::None,
        "close" => Action::Close(which(number().ok()?)?),
        "focus" => Action::Focus(which(number().ok()?)??),
        "focus-next" => Action::FocusNext,
        "focus-previous" => Action::FocusPrevious,
        "toggle-maximised" => Action::ToggleMaximised(which(number().ok()?)?),
        "toggle-fullscreen" => Action::ToggleFullscreen(which(number().ok()?)?),
        "minimise" => Action::Minimise(which(number().ok()?)?),
        "restore" => Action::Restore(which(number().ok()?)?),
        "move" => Action::Move { x: place(number().ok()?)?, y: place(number().ok()?)?, window: which(number().ok()?)? },
        "resize" => {
            Action::Resize { w: side(number().ok()?)?, h: side(number().ok()?)?, window: which(number().ok()?)? }
        }
        "workspace" => Action::Workspace(workspace(number().ok()?)?),
        "workspace-next" => Action::WorkspaceNext,
        "workspace-previous" => Action::WorkspacePrevious,
        "move-to-workspace" => {
            Action::MoveToWorkspace { workspace: workspace(number().ok()?)?, window: which(number().ok()?)? }
        }
        "output-next" => Action::OutputNext,
        "output-previous" => Action::OutputPrevious,
        "move-to-output-next" => Action::MoveToOutputNext(which(number().ok()?)?),
        "move-to-output-previous" => Action::MoveToOutputPrevious(which(number().ok()?)?),
        "layout-next" => Action::LayoutNext,
        "reload" => Action::Reload,
        "quit" => Action::Quit,
        _ => return None,
    };
    words.next().is_none().then_some(action)
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |f: &mut fmt::Formatter<'_>, words: fmt::Arguments<'_>, window: &Which| match window {
            Some(window) => write!(f, "{words} {window}"),
            None => f.write_fmt(words),
        };
        match self {
            Self::None => f.write_str("none"),
            Self::Spawn(command) => write!(f, "spawn {command}"),
            Self::Close(window) => with(f, format_args!("close"), window),
            Self::Focus(window) => write!(f, "focus {window}"),
            Self::FocusNext => f.write_str("focus-next"),
            Self::FocusPrevious => f.write_str("focus-previous"),
            Self::ToggleMaximised(window) => with(f, format_args!("toggle-maximised"), window),
            Self::ToggleFullscreen(window) => with(f, format_args!("toggle-fullscreen"), window),
            Self::Minimise(window) => with(f, format_args!("minimise"), window),
            Self::Restore(window) => with(f, format_args!("restore"), window),
            Self::Move { x, y, window } => with(f, format_args!("move {x} {y}"), window),
            Self::Resize { w, h, window } => with(f, format_args!("resize {w} {h}"), window),
            Self::Workspace(n) => write!(f, "workspace {n}"),
            Self::WorkspaceNext => f.write_str("workspace-next"),
            Self::WorkspacePrevious => f.write_str("workspace-previous"),
            Self::MoveToWorkspace { workspace, window } => {
                with(f, format_args!("move-to-workspace {workspace}"), window)
            }
            Self::OutputNext => f.write_str("output-next"),
            Self::OutputPrevious => f.write_str("output-previous"),
            Self::MoveToOutputNext(window) => with(f, format_args!("move-to-output-next"), window),
            Self::MoveToOutputPrevious(window) => with(f, format_args!("move-to-output-previous"), window),
            Self::LayoutNext => f.write_str("layout-next"),
            Self::Reload => f.write_str("reload"),
            Self::Quit => f.write_str("quit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_of_every_form_parses_and_prints_back() {
        for form in FORMS {
            let full = form
                .replace("COMMAND...", "foot -e 'a  b'")
                .replace("[WINDOW]", "7")
                .replace("WINDOW", "7")
                .replace(" N", " 3")
                .replace("X Y", "-5 6")
                .replace("W H", "640 480");
            let action: Action = full.parse().unwrap_or_else(|e| panic!("{full}: {e}"));
            assert_eq!(action.to_string(), full);
            let short = full.trim_end_matches(" 7");
            if form.contains('[') {
                assert_eq!(short.parse::<Action>().unwrap().to_string(), short);
            }
        }
    }

    #[test]
    fn action_of_every_form_is_in_the_documents() {
        let man = include_str!("../../resources/man/transom.1.sections").replace("\\-", "-");
        let man = man.split(".SS Actions").nth(1).and_then(|rest| rest.split(".SS").next()).unwrap().to_owned();
        for verb in FORMS.map(|form| form.split(' ').next().unwrap_or_default()) {
            let listed = |text: &str| text.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == verb);
            assert!(listed(&man), "the man page lacks {verb}");
            // Those for scripts need a window's id, which no key has.
            assert!(listed(include_str!("../../compositor.toml")) || verb == "focus", "compositor.toml lacks {verb}");
        }
    }

    #[test]
    fn action_with_wrong_arguments_names_the_form() {
        for text in [
            "spawn",
            "spawn  ",
            "focus",
            "focus x",
            "close -1",
            "close 1 2",
            "workspace 0",
            "workspace",
            "move 1",
            "resize 0 5",
            "resize 5 4294967296",
            "quit now",
            "focus-next 1",
            "move-to-workspace 1 x",
        ] {
            let error = text.parse::<Action>().unwrap_err();
            assert!(matches!(error, ActionError::Arguments { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn action_unknown_lists_what_there_is() {
        let error = "explode".parse::<Action>().unwrap_err().to_string();
        assert!(error.contains("'explode'") && error.contains("toggle-fullscreen [WINDOW]"), "{error}");
        assert!("".parse::<Action>().is_err());
    }
}
