//! Keys bound to actions.
//!
//! A chord is written `Super+Shift+q`: modifiers, then the key's XKB keysym name without its `XKB_KEY_` prefix. It is
//! matched on the keysym of the key *without* modifiers, so `Super+Shift+q` is written with a small q. Whether a name
//! is a keysym is known to the keyboard's adapter, which says so when it takes the table.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::action::Action;

/// Modifiers held. Locks (Caps, Num) do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modifiers {
    /// Either Super key (Mod4).
    pub logo: bool,
    /// Either Control key.
    pub ctrl: bool,
    /// Either Alt key (Mod1).
    pub alt: bool,
    /// Either Shift key.
    pub shift: bool,
}

impl Modifiers {
    fn named(&mut self, name: &str) -> Option<&mut bool> {
        match name.to_ascii_lowercase().as_str() {
            "super" | "logo" | "mod4" | "win" => Some(&mut self.logo),
            "ctrl" | "control" => Some(&mut self.ctrl),
            "alt" | "mod1" => Some(&mut self.alt),
            "shift" => Some(&mut self.shift),
            _ => None,
        }
    }
}

impl FromStr for Modifiers {
    type Err = ChordError;

    /// Reads `Super` or `Ctrl+Alt`; the empty text is no modifier.
    fn from_str(text: &str) -> Result<Self, ChordError> {
        let mut held = Self::default();
        for name in text.split('+').filter(|_| !text.is_empty()) {
            *held.named(name).ok_or_else(|| ChordError::Modifier(name.to_owned()))? = true;
        }
        Ok(held)
    }
}

impl fmt::Display for Modifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(self.logo, "Super"), (self.ctrl, "Ctrl"), (self.alt, "Alt"), (self.shift, "Shift")];
        let mut held = names.into_iter().filter(|(held, _)| *held);
        if let Some((_, first)) = held.next() {
            f.write_str(first)?;
        }
        held.try_for_each(|(_, name)| write!(f, "+{name}"))
    }
}

/// Modifiers and a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Chord {
    /// All of these, and no other, must be held.
    pub modifiers: Modifiers,
    /// The key's XKB keysym name, e.g. `Return`, `q`, `XF86AudioMute`.
    pub key: String,
}

/// Why a text is no chord.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChordError {
    /// A word before the last is no modifier.
    #[error("no modifier '{0}'; there are Super, Ctrl, Alt and Shift")]
    Modifier(String),
    /// There is no key after the modifiers.
    #[error("'{0}' names no key; write e.g. Super+Shift+q")]
    NoKey(String),
}

impl FromStr for Chord {
    type Err = ChordError;

    fn from_str(text: &str) -> Result<Self, ChordError> {
        let (modifiers, key) = text.rsplit_once('+').unwrap_or(("", text));
        let no_key = || ChordError::NoKey(text.to_owned());
        if key.is_empty() || key.contains(char::is_whitespace) || Modifiers::default().named(key).is_some() {
            return Err(no_key());
        }
        Ok(Self { modifiers: modifiers.parse()?, key: key.to_owned() })
    }
}

impl TryFrom<String> for Chord {
    type Error = ChordError;

    fn try_from(text: String) -> Result<Self, ChordError> {
        text.parse()
    }
}

impl From<Chord> for String {
    fn from(chord: Chord) -> Self {
        chord.to_string()
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers != Modifiers::default() {
            write!(f, "{}+", self.modifiers)?;
        }
        f.write_str(&self.key)
    }
}

/// Every binding; one action a chord. A user's table is laid over the default one, chord by chord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bindings(BTreeMap<Chord, Action>);

impl Bindings {
    /// Nothing bound.
    pub const fn empty() -> Self {
        Self(BTreeMap::new())
    }

    /// Binds `chord`, over whatever it was bound to; [`Action::None`] unbinds it.
    pub fn bind(&mut self, chord: Chord, action: Action) {
        if action == Action::None {
            self.0.remove(&chord);
        } else {
            self.0.insert(chord, action);
        }
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Chord, &Action)> {
        self.0.iter()
    }
}

impl Default for Bindings {
    /// The house's own table.
    fn default() -> Self {
        let logo = Modifiers { logo: true, ..Modifiers::default() };
        let shift = Modifiers { shift: true, ..logo };
        let mut bindings = Self::empty();
        let mut bind = |modifiers, key: &str, action| bindings.bind(Chord { modifiers, key: key.to_owned() }, action);
        bind(logo, "Return", Action::Spawn("foot".to_owned()));
        bind(logo, "q", Action::Close(None));
        bind(logo, "Tab", Action::FocusNext);
        bind(shift, "Tab", Action::FocusPrevious);
        bind(logo, "m", Action::ToggleMaximised(None));
        bind(logo, "f", Action::ToggleFullscreen(None));
        bind(logo, "h", Action::Minimise(None));
        bind(shift, "h", Action::Restore(None));
        bind(logo, "Right", Action::WorkspaceNext);
        bind(logo, "Left", Action::WorkspacePrevious);
        for workspace in 1..=4 {
            bind(logo, &workspace.to_string(), Action::Workspace(workspace));
            bind(shift, &workspace.to_string(), Action::MoveToWorkspace { workspace, window: None });
        }
        bind(shift, "r", Action::Reload);
        bind(shift, "e", Action::Quit);
        bindings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chord_is_read_whatever_the_order_and_case_of_modifiers() {
        let chord: Chord = "shift+SUPER+Return".parse().unwrap();
        assert_eq!(chord, "Super+Shift+Return".parse().unwrap());
        assert_eq!(chord.to_string(), "Super+Shift+Return");
        assert_eq!("Print".parse::<Chord>().unwrap().to_string(), "Print");
    }

    #[test]
    fn chord_without_a_key_or_with_an_unknown_modifier_is_refused() {
        assert_eq!("Hyper+q".parse::<Chord>(), Err(ChordError::Modifier("Hyper".into())));
        for text in ["", "Super+", "Super", "Super+Shift", "Super+a b"] {
            assert_eq!(text.parse::<Chord>(), Err(ChordError::NoKey(text.into())));
        }
        assert!("+q".parse::<Chord>().is_ok(), "no modifier is none");
        assert!("++q".parse::<Chord>().is_err());
    }

    #[test]
    fn binding_to_none_unbinds() {
        let mut bindings = Bindings::empty();
        let chord: Chord = "Super+q".parse().unwrap();
        bindings.bind(chord.clone(), Action::Quit);
        bindings.bind(chord.clone(), Action::Reload);
        assert_eq!(bindings.iter().collect::<Vec<_>>(), [(&chord, &Action::Reload)]);
        bindings.bind(chord, Action::None);
        assert_eq!(bindings.iter().count(), 0);
    }
}
