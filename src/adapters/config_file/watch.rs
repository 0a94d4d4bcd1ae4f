//! Tells when the configuration file changed, also where an editor replaces it by another file.
//!
//! The *directory* is watched, since a watch on the file would stay with the one that was replaced; where the file is
//! a symbolic link, so is the directory of what it leads to.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// A watch on one file, existing or not.
#[derive(Debug)]
pub struct Watch {
    inotify: Inotify,
    file: PathBuf,
    /// Directory watched, name in it.
    places: Vec<(WatchDescriptor, OsString)>,
}

impl Watch {
    /// Starts to watch. Where the file's directory does not exist there is nothing to watch until [`Watch::renew`].
    ///
    /// # Errors
    /// What inotify_init1(2) says, e.g. too many instances.
    pub fn new(file: &Path) -> Result<Self, Errno> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let mut watch = Self { inotify, file: file.to_owned(), places: Vec::new() };
        watch.renew();
        Ok(watch)
    }

    /// Follows the links anew.
    pub fn renew(&mut self) {
        let old = std::mem::take(&mut self.places);
        let target = self.file.canonicalize().ok();
        for path in [Some(self.file.clone()), target].into_iter().flatten() {
            let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
            let what = AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_CREATE;
            match self.inotify.add_watch(dir, what) {
                Ok(place) => self.places.push((place, name.to_owned())),
                Err(error) => tracing::debug!(dir = %dir.display(), %error, "the directory is not watched"),
            }
        }
        for (place, _) in old {
            if !self.places.iter().any(|(kept, _)| *kept == place) {
                // It may be gone with its directory.
                let _ = self.inotify.rm_watch(place);
            }
        }
    }

    /// Whether the file changed since the last call. Does not block.
    pub fn changed(&mut self) -> bool {
        let mut changed = false;
        while let Ok(events) = self.inotify.read_events() {
            changed |= events.iter().any(|event| {
                // The queue overflowed (no name then): something was missed.
                event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW)
                    || self.places.iter().any(|(wd, name)| *wd == event.wd && event.name.as_ref() == Some(name))
                        && !(event.mask.contains(AddWatchFlags::IN_CREATE) && is_being_written(&self.file))
            });
        }
        if changed {
            self.renew();
        }
        changed
    }
}

/// Whether a file that was just created awaits its content: whoever made it has it open and will close it. A link to
/// another one is complete from the start.
fn is_being_written(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file() && meta.nlink() == 1)
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn watch_sees_a_write_a_replacement_and_a_creation() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("compositor.toml");
        let mut watch = Watch::new(&file).unwrap();
        assert!(!watch.changed());
        fs::write(&file, "1").unwrap();
        assert!(watch.changed(), "creation");
        fs::write(&file, "2").unwrap();
        assert!(watch.changed(), "write");
        for _ in 0..2 {
            fs::write(dir.path().join("other"), "3").unwrap();
            assert!(!watch.changed(), "another file");
            fs::rename(dir.path().join("other"), &file).unwrap();
            assert!(watch.changed(), "replacement");
        }
    }

    #[test]
    fn watch_of_a_new_file_waits_for_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("compositor.toml");
        let mut watch = Watch::new(&file).unwrap();
        let mut open = fs::File::create(&file).unwrap();
        assert!(!watch.changed(), "it is empty yet");
        std::io::Write::write_all(&mut open, b"1").unwrap();
        assert!(!watch.changed(), "it may be half written");
        drop(open);
        assert!(watch.changed(), "it is written");
        fs::remove_file(&file).unwrap();
        fs::write(dir.path().join("other"), "2").unwrap();
        fs::hard_link(dir.path().join("other"), &file).unwrap();
        assert!(watch.changed(), "a link has its content");
    }

    #[test]
    fn watch_of_a_link_sees_the_linked_file_and_a_new_link() {
        let dir = tempfile::tempdir().unwrap();
        let store = tempfile::tempdir().unwrap();
        let file = dir.path().join("compositor.toml");
        for name in ["a", "b"] {
            fs::write(store.path().join(name), "1").unwrap();
        }
        std::os::unix::fs::symlink(store.path().join("a"), &file).unwrap();
        let mut watch = Watch::new(&file).unwrap();
        fs::write(store.path().join("a"), "2").unwrap();
        assert!(watch.changed());
        std::os::unix::fs::symlink(store.path().join("b"), dir.path().join("new")).unwrap();
        fs::rename(dir.path().join("new"), &file).unwrap();
        assert!(watch.changed());
        fs::write(store.path().join("b"), "2").unwrap();
        assert!(watch.changed());
        fs::write(store.path().join("a"), "3").unwrap();
        assert!(!watch.changed(), "no longer linked");
    }
}
