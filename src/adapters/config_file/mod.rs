//! `compositor.toml` → [`domain::config`](crate::domain::config).
//!
//! [`Source::find`] looks for the file, [`Source::load`] reads it, [`parse`] lays its text over the defaults and says
//! of a mistake where it is and in which field, [`check`] likewise of keys and keymaps that there are not; [`Watch`]
//! tells when the file changed. Keeping the last good configuration is the caller's part: an error here changes
//! nothing. Next of the walk: `app::reload`.

mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use toml::de::DeTable;
pub use watch::Watch;

use crate::domain::binding::Chord;
use crate::domain::config::{Config, Keyboard};

/// The documented default file, equal to `Config::default()`.
pub const DEFAULT: &str = include_str!("../../../compositor.toml");

/// Files larger than this are refused.
const MAX_BYTES: u64 = 1 << 20;

/// What keyboards can be, as whoever handles them knows it.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Whether there is a key of this name.
    pub is_key: fn(&str) -> bool,
    /// Whether there is such a keymap.
    pub has_keymap: fn(&Keyboard) -> bool,
}

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: Option<PathBuf>,
    must_exist: bool,
}

impl Source {
    /// Chooses: `argument` (`--config`), `$TRANSOM_CONFIG`, `$XDG_CONFIG_HOME/transom/compositor.toml` with
    /// `$HOME/.config` for an unset `$XDG_CONFIG_HOME`, the built-in one. The first two must exist; the third need
    /// not. `var` reads the environment.
    pub fn find(argument: Option<&Path>, var: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = argument.map(Path::to_owned).or_else(|| set("TRANSOM_CONFIG")) {
            return Self { path: Some(path), must_exist: true };
        }
        // The base directory specification has relative paths ignored.
        let base = set("XDG_CONFIG_HOME").filter(|p| p.is_absolute());
        let base = base.or_else(|| set("HOME").map(|home| home.join(".config")));
        Self { path: base.map(|base| base.join("transom/compositor.toml")), must_exist: false }
    }

    /// The file, whether or not it exists; `None` stands for the built-in one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads and checks the file.
    ///
    /// # Errors
    /// [`LoadError`], for people: the file, the place in it, the field, what is wrong.
    pub fn load(&self, keys: &Keys) -> Result<Config, LoadError> {
        let Some(path) = &self.path else { return Ok(Config::default()) };
        let read = |source| LoadError::Read { path: path.clone(), source };
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound && !self.must_exist => return Ok(Config::default()),
            Err(e) => return Err(read(e)),
        };
        // Neither a pipe that would block nor a file that would fill the memory.
        if !meta.is_file() || meta.len() > MAX_BYTES {
            return Err(read(io::Error::other(format!("not a file of at most {MAX_BYTES} bytes"))));
        }
        let text = std::fs::read_to_string(path).map_err(read)?;
        let config = parse(&text).map_err(|e| e.in_file(path))?;
        check(&text, &config, keys).map_err(|e| e.in_file(path))?;
        Ok(config)
    }
}

/// Lays the file's text over the defaults.
///
/// # Errors
/// [`LoadError::Mistake`] without a path.
pub fn parse(text: &str) -> Result<Config, LoadError> {
    toml::from_str(text).map_err(|mut error: toml::de::Error| {
        let at = error.span().map(|span| place(text, span.start));
        let message = error.message().trim_end().to_owned();
        // Without its input the error prints the field's path in the place of an excerpt.
        error.set_input(None);
        let printed = error.to_string();
        let field = printed.lines().last().and_then(|line| line.strip_prefix("in `")?.strip_suffix('`'));
        LoadError::Mistake { path: PathBuf::new(), at, field: field.map(str::to_owned), message }
    })
}

/// Looks for the keys and the keymap that the file's text, which [`parse`] made `config` of, asks for.
///
/// # Errors
/// [`LoadError::Mistake`] without a path: the first that there is not.
pub fn check(text: &str, config: &Config, keys: &Keys) -> Result<(), LoadError> {
    let Ok(file) = DeTable::parse(text) else { return Ok(()) };
    let mistake = |byte: usize, field: String, message: String| {
        Err(LoadError::Mistake { path: PathBuf::new(), at: Some(place(text, byte)), field: Some(field), message })
    };
    let mut chords: Vec<_> = within(file.get_ref(), "bindings").into_iter().flatten().map(|(chord, _)| chord).collect();
    chords.sort_by_key(|chord| chord.span().start);
    for chord in chords {
        let (start, chord) = (chord.span().start, chord.get_ref());
        if let Ok(Chord { key, .. }) = chord.parse()
            && !(keys.is_key)(&key)
        {
            let key = key.escape_debug();
            let message = format!("there is no key '{key}'; write an XKB keysym name, such as Return or XF86AudioMute");
            return mistake(start, format!("bindings.{}", chord.escape_debug()), message);
        }
    }
    let keyboard = &config.input.keyboard;
    let Keyboard { rules, model, layout, variant, options, .. } = keyboard;
    let table = within(file.get_ref(), "input").and_then(|input| within(input, "keyboard"));
    for (name, value) in
        [("layout", layout), ("variant", variant), ("options", options), ("model", model), ("rules", rules)]
    {
        // The first one that is there; without any it is the system's own keymap, which is nobody's mistake.
        let Some(written) = table.and_then(|table| table.get(name)).filter(|_| !value.is_empty()) else {
            continue;
        };
        if (keys.has_keymap)(keyboard) {
            break;
        }
        let message = format!(
            "there is no keymap with layout '{}', variant '{}' and options '{}'; see xkeyboard-config(7)",
            layout.escape_debug(),
            variant.escape_debug(),
            options.escape_debug()
        );
        return mistake(written.span().start, format!("input.keyboard.{name}"), message);
    }
    Ok(())
}

fn within<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

/// Line and column of a byte, both counted from 1, the column in characters.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[line_start..]).chars().count() + 1)
}

/// Why a file is not in force.
#[derive(Debug)]
pub enum LoadError {
    /// It cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What it says is not a configuration.
    Mistake {
        /// The file.
        path: PathBuf,
        /// Line and column, counted from 1.
        at: Option<(usize, usize)>,
        /// The field, e.g. `input.keyboard.repeat-rate`.
        field: Option<String>,
        /// What is wrong.
        message: String,
    },
}

impl LoadError {
    fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Mistake { at, field, message, .. } => Self::Mistake { path: file.to_owned(), at, field, message },
            read @ Self::Read { .. } => read,
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::Mistake { .. } => None,
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, .. } => write!(f, "{}: cannot be read", path.display()),
            Self::Mistake { path, at, field, message } => {
                write!(f, "{}", path.display())?;
                if let Some((line, column)) = at {
                    write!(f, ":{line}:{column}")?;
                }
                if let Some(field) = field {
                    write!(f, ": field '{field}'")?;
                }
                write!(f, ": {message}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::config;
    use crate::domain::geometry::{Point, Scale};
    use crate::domain::transform::Transform;

    /// The default file with its `#key` examples made active.
    fn default_with_examples() -> String {
        let active = |line: &&str| match line.strip_prefix('#') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest.to_owned(),
            _ => (*line).to_owned(),
        };
        DEFAULT.lines().map(|line| active(&line) + "\n").collect()
    }

    #[test]
    fn embedded_file_equals_the_defaults() {
        assert_eq!(parse(DEFAULT).unwrap(), Config::default());
        // The table of keys is laid over the same table, so compare it by itself.
        let file: toml::Table = DEFAULT.parse().unwrap();
        let built_in = toml::Table::try_from(Config::default()).unwrap();
        assert_eq!(file["bindings"], built_in["bindings"]);
    }

    #[test]
    fn embedded_file_documents_every_field() {
        let text = default_with_examples();
        let file: toml::Table = text.parse().unwrap();
        let mut config = Config::default();
        let output = config::Output {
            mode: Some("1920x1080@60".parse().unwrap()),
            position: Some(Point::new(0, 0)),
            scale: Some(Scale::ONE),
            ..Default::default()
        };
        config.outputs.insert("HEADLESS-1".into(), output);
        let all = toml::Table::try_from(&config).unwrap();
        assert_eq!(file, all, "the file and the structs have the same fields with the same values");
        let lines: Vec<_> = text.lines().collect();
        for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(" = ") && !line.starts_with('#')) {
            let explained = lines[..i].iter().rev().find(|l| l.starts_with('#') || l.is_empty() || l.starts_with('['));
            let explained = explained.is_some_and(|l| l.starts_with('#')) || line.starts_with('"');
            assert!(explained, "'{line}' has no comment above it");
        }
    }

    #[test]
    fn user_file_is_laid_over_the_defaults() {
        let config = parse(
            "[outputs.X]\nscale = 2\ntransform = \"flipped-90\"\nposition = [-3, 4]\n[bindings]\n\"Super+q\" = \"none\"\n\
             \"Super+t\" = \"spawn foot\"\n[desktop]\nbackground = \"#FF0080\"\n",
        )
        .unwrap();
        assert_eq!(config.output("X").scale, Some(Scale::from_120ths(240)));
        assert_eq!(config.output("X").transform, Transform::Flipped90);
        assert_eq!(config.output("X").position, Some(Point::new(-3, 4)));
        assert_eq!(config.output("Y"), config::Output::default());
        assert_eq!(config.renderer, config::Renderer::default());
        let bound: Vec<_> = config.bindings.iter().map(|(chord, _)| chord.to_string()).collect();
        assert!(bound.contains(&"Super+t".into()) && bound.contains(&"Super+Return".into()));
        assert!(!bound.contains(&"Super+q".into()));
        assert_eq!(config.desktop.background.r, 1.0);
    }

    #[test]
    fn mistake_is_reported_with_line_column_and_field() {
        for (text, at, field, part) in [
            ("[renderer]\nbindles = \"on\"\n", (2, 1), "renderer", "unknown field `bindles`"),
            ("[rendrer]\n", (1, 2), "", "unknown field `rendrer`"),
            ("[renderer]\nbindless = \"maybe\"\n", (2, 12), "renderer.bindless", "unknown variant `maybe`"),
            ("[input.keyboard]\nrepeat-rate = -1\n", (2, 15), "input.keyboard.repeat-rate", "-1"),
            ("\n[outputs.A]\n  scale = 99\n", (3, 11), "outputs.A.scale", "not in 0.25 to 10"),
            ("[outputs.A]\nmode = \"wide\"\n", (2, 8), "outputs.A.mode", "WIDTHxHEIGHT@HERTZ"),
            ("[outputs.A]\ntransform = \"91\"\n", (2, 13), "outputs.A.transform", "flipped-270"),
            ("[outputs.A]\nposition = [1]\n", (2, 12), "outputs.A.position", "length"),
            ("[headless]\noutputs = [\"1x1@60\", \"1x0\"]\n", (2, 11), "headless.outputs", "not a mode"),
            ("[desktop]\nbackground = \"red\"\n", (2, 14), "desktop.background", "#rrggbb"),
            ("[workspaces]\ncount = 0\n", (2, 9), "workspaces.count", "1 to 100"),
            ("[bindings]\n\"Super+x\" = \"explode\"\n", (2, 13), "bindings.Super+x", "no action 'explode'"),
            ("[bindings]\n\"Hyper+x\" = \"quit\"\n", (2, 1), "bindings", "no modifier 'Hyper'"),
            ("[log]\nfilter = \n", (2, 10), "", ""),
        ] {
            let error = parse(text).unwrap_err().in_file(Path::new("f.toml"));
            let LoadError::Mistake { at: found, field: found_field, message, .. } = &error else { panic!("{error}") };
            assert_eq!(*found, Some(at), "{text}: {error}");
            assert_eq!(found_field.as_deref().unwrap_or(""), field, "{text}: {error}");
            assert!(message.contains(part), "{text}: {error}");
            assert!(error.to_string().starts_with(&format!("f.toml:{}:{}: ", at.0, at.1)), "{error}");
        }
    }

    const ANY: Keys = Keys { is_key: |_| true, has_keymap: |_| true };

    #[test]
    fn key_or_keymap_that_there_is_not_is_reported_with_line_column_and_field() {
        let keys = Keys { is_key: |name| name != "Retrun", has_keymap: |keyboard| keyboard.layout != "xx" };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f.toml");
        for (text, place) in [
            (
                "[bindings]\n\"Super+Return\" = \"quit\"\n  \"Super+Retrun\" = \"quit\"\n",
                ":3:3: field 'bindings.Super+Retrun': there is no key 'Retrun'",
            ),
            ("bindings.\"Alt+Retrun\" = \"none\"\n", ":1:10: field 'bindings.Alt+Retrun'"),
            (
                "[input.keyboard]\nlayout = \"xx\"\n",
                ":2:10: field 'input.keyboard.layout': there is no keymap with layout 'xx'",
            ),
            ("[input.keyboard]\nlayout = \"us\"\n", ""),
            (DEFAULT, ""),
        ] {
            std::fs::write(&file, text).unwrap();
            let loaded = Source::find(Some(&file), |_| None).load(&keys);
            let error = loaded.err().map_or_else(String::new, |error| error.to_string());
            let expected = if place.is_empty() { String::new() } else { format!("{}{place}", file.display()) };
            assert!(error.starts_with(&expected) && error.is_empty() == place.is_empty(), "{text}: {error}");
        }
    }

    #[test]
    fn search_goes_from_argument_to_environment_to_home() {
        let env = |vars: &'static [(&'static str, &'static str)]| {
            move |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
        };
        let all = &[("TRANSOM_CONFIG", "/t"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")];
        let path = |source: &Source| source.path().map(|p| p.display().to_string());
        assert_eq!(path(&Source::find(Some(Path::new("/a")), env(all))), Some("/a".into()));
        assert_eq!(path(&Source::find(None, env(all))), Some("/t".into()));
        assert_eq!(path(&Source::find(None, env(&all[1..]))), Some("/x/transom/compositor.toml".into()));
        assert_eq!(path(&Source::find(None, env(&all[2..]))), Some("/h/.config/transom/compositor.toml".into()));
        let relative = &[("TRANSOM_CONFIG", ""), ("XDG_CONFIG_HOME", "x"), ("HOME", "/h")];
        assert_eq!(path(&Source::find(None, env(relative))), Some("/h/.config/transom/compositor.toml".into()));
        assert_eq!(path(&Source::find(None, env(&[]))), None);
    }

    #[test]
    fn file_that_is_missing_is_an_error_only_where_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none.toml");
        assert!(Source::find(Some(&missing), |_| None).load(&ANY).is_err());
        let home = dir.path().as_os_str().to_owned();
        let source = Source::find(None, |name| (name == "HOME").then(|| home.clone()));
        assert_eq!(source.load(&ANY).unwrap(), Config::default());
    }

    #[test]
    fn file_that_is_a_directory_or_not_text_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Source::find(Some(dir.path()), |_| None).load(&ANY).is_err());
        let binary = dir.path().join("binary");
        std::fs::write(&binary, [0xff, 0xfe]).unwrap();
        assert!(Source::find(Some(&binary), |_| None).load(&ANY).is_err());
    }
}
