//! What of the system beneath a compositor needs: directories, sockets, kernel devices. [`super`] tells it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use transom::adapters::config_file::Source;
use transom::app;

/// Something of the system.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) good: bool,
    pub(super) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, good: true, found: found.into(), advice: None }
    }

    pub(super) fn bad(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, good: false, found: found.into(), advice: Some(advice.into()) }
    }
}

/// Looks at everything.
pub(super) fn examine() -> Vec<Check> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    vec![
        configuration(&Source::find(None, |name| std::env::var_os(name))),
        runtime_dir(var("XDG_RUNTIME_DIR").map(PathBuf::from)),
        host(var("WAYLAND_DISPLAY"), var("DISPLAY")),
        udmabuf(Path::new("/dev/udmabuf"), Path::new("/sys/module/udmabuf/parameters")),
        drm(Path::new("/dev/dri"), Path::new("/sys/class/drm")),
        seat(Path::new("/run"), var("XDG_SEAT")),
    ]
}

fn configuration(source: &Source) -> Check {
    const NAME: &str = "configuration";
    let path = source.path().filter(|path| path.exists());
    match (source.load(&app::KEYS), path) {
        (Err(error), _) => Check::bad(
            NAME,
            format!("{:#}", anyhow::Error::from(error)),
            "`transom run` refuses to start with it; compositor.toml of the source tree documents every key",
        ),
        (Ok(_), Some(path)) => Check::good(NAME, path.display().to_string()),
        (Ok(_), None) => Check::good(NAME, "the built-in one"),
    }
}

fn runtime_dir(dir: Option<PathBuf>) -> Check {
    const NAME: &str = "runtime directory";
    match dir {
        None => Check::bad(
            NAME,
            "XDG_RUNTIME_DIR is not set",
            "log in through logind, or: export XDG_RUNTIME_DIR=$(mktemp -d)",
        ),
        Some(dir) if !dir.is_absolute() || !dir.is_dir() => Check::bad(
            NAME,
            format!("XDG_RUNTIME_DIR is {}, which is no absolute directory", dir.display()),
            "make it, for yourself alone (mode 0700)",
        ),
        Some(dir) => Check::good(NAME, dir.display().to_string()),
    }
}

fn host(wayland: Option<String>, x: Option<String>) -> Check {
    const NAME: &str = "host desktop";
    match (wayland, x) {
        (Some(display), _) => Check::good(NAME, format!("Wayland, {display}")),
        (None, Some(display)) => Check::good(NAME, format!("X11, {display}")),
        (None, None) => Check::bad(NAME, "none", "for --backend nested start it inside a desktop; headless needs none"),
    }
}

fn udmabuf(node: &Path, parameters: &Path) -> Check {
    const NAME: &str = "udmabuf";
    match OpenOptions::new().read(true).write(true).open(node) {
        Ok(_) => {
            let limit = |name: &str| {
                let text = fs::read_to_string(parameters.join(name)).ok()?;
                Some(format!(", {name} {}", text.trim()))
            };
            let limits = ["size_limit_mb", "list_limit"].map(|name| limit(name).unwrap_or_default()).concat();
            Check::good(NAME, format!("{}{limits}", node.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Check::bad(
            NAME,
            format!("{} is not there", node.display()),
            "modprobe udmabuf, where the kernel has it; wl_shm content is copied without",
        ),
        Err(error) => Check::bad(
            NAME,
            format!("{}: {error}", node.display()),
            "join the group that owns it (often kvm); wl_shm content is copied without",
        ),
    }
}

/// `classes` tells which kernel driver a node is of.
fn drm(dir: &Path, classes: &Path) -> Check {
    const NAME: &str = "DRM nodes";
    let mut nodes: Vec<PathBuf> = fs::read_dir(dir)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| !path.is_dir()).collect())
        .unwrap_or_default();
    nodes.sort();
    if nodes.is_empty() {
        return Check::bad(NAME, "none", "a GPU's kernel driver makes them; software rendering needs none");
    }
    let closed = |node: &&PathBuf| OpenOptions::new().read(true).write(true).open(node).is_err();
    let named = |node: &&PathBuf| {
        let class = classes.join(node.file_name().unwrap_or_default()).join("device/driver");
        let driver = fs::canonicalize(class).ok().and_then(|path| Some(path.file_name()?.display().to_string()));
        driver.map_or_else(|| node.display().to_string(), |driver| format!("{} ({driver})", node.display()))
    };
    let names = |list: &[&PathBuf]| list.iter().map(named).collect::<Vec<_>>().join(", ");
    let closed: Vec<_> = nodes.iter().filter(closed).collect();
    let all = names(&nodes.iter().collect::<Vec<_>>());
    if closed.is_empty() {
        return Check::good(NAME, all);
    }
    Check::bad(
        NAME,
        format!("{all}; not open to you: {}", names(&closed)),
        "join the groups video and render, or log in through logind, which gives them to the active session",
    )
}

fn seat(run: &Path, seat: Option<String>) -> Check {
    const NAME: &str = "seat";
    let name = seat.unwrap_or_else(|| "seat0".to_owned());
    if run.join("systemd/seats").join(&name).exists() {
        Check::good(NAME, format!("{name}, through logind"))
    } else if run.join("seatd.sock").exists() {
        Check::good(NAME, format!("{name}, through seatd"))
    } else {
        Check::bad(
            NAME,
            "neither logind nor seatd",
            "only a display of one's own needs a seat; nested and headless do not",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_directory_that_is_missing_or_relative_is_bad_and_advised_on() {
        assert!(runtime_dir(Some(std::env::temp_dir())).good);
        for dir in [None, Some("tmp".into()), Some("/nonexistent".into())] {
            let check = runtime_dir(dir);
            assert!(!check.good && check.advice.is_some());
        }
    }

    #[test]
    fn udmabuf_is_told_with_its_limits() {
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("udmabuf");
        assert!(udmabuf(&node, dir.path()).advice.unwrap().contains("modprobe"));
        fs::write(&node, "").unwrap();
        fs::write(dir.path().join("size_limit_mb"), "64\n").unwrap();
        let check = udmabuf(&node, dir.path());
        assert!(check.good && check.found.ends_with("udmabuf, size_limit_mb 64"), "{}", check.found);
    }

    #[test]
    fn drm_nodes_are_told_with_their_drivers() {
        let dir = tempfile::tempdir().unwrap();
        let (nodes, classes) = (dir.path().join("dri"), dir.path().join("class"));
        assert!(!drm(&nodes, &classes).good, "there are none");
        fs::create_dir_all(nodes.join("by-path")).unwrap();
        fs::create_dir_all(classes.join("card0/device")).unwrap();
        fs::create_dir_all(dir.path().join("drivers/vkms")).unwrap();
        std::os::unix::fs::symlink("../../../drivers/vkms", classes.join("card0/device/driver")).unwrap();
        for name in ["card0", "renderD128"] {
            fs::write(nodes.join(name), "").unwrap();
        }
        let check = drm(&nodes, &classes);
        let expected = format!("{0}/card0 (vkms), {0}/renderD128", nodes.display());
        assert_eq!((check.good, check.found), (true, expected));
    }

    #[test]
    fn configuration_with_a_mistake_is_told_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.toml");
        let source = Source::find(Some(&file), |_| None);
        fs::write(&file, "log.filter = \"info\"\n").unwrap();
        assert_eq!(configuration(&source).found, file.display().to_string());
        fs::write(&file, "[bindings]\n\"Super+Retrun\" = \"quit\"\n").unwrap();
        let check = configuration(&source);
        assert!(!check.good && check.found.contains("c.toml:2:1: field 'bindings.Super+Retrun'"), "{}", check.found);
        assert_eq!(configuration(&Source::find(None, |_| None)).found, "the built-in one");
    }

    #[test]
    fn seat_is_found_through_logind_or_seatd() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!seat(dir.path(), None).good);
        fs::write(dir.path().join("seatd.sock"), "").unwrap();
        assert_eq!(seat(dir.path(), None).found, "seat0, through seatd");
        fs::create_dir_all(dir.path().join("systemd/seats")).unwrap();
        fs::write(dir.path().join("systemd/seats/seat7"), "").unwrap();
        assert_eq!(seat(dir.path(), Some("seat7".into())).found, "seat7, through logind");
    }
}
