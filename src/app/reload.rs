//! The configuration, read again: when the file changed, and when somebody asks.
//!
//! A file with a mistake changes nothing. What is read at start only is kept, and said so.

use super::Compositor;
use crate::adapters::config_file::{Keys, LoadError};
use crate::adapters::wayland::seat;
use crate::domain::config::Config;

/// What the seat knows of keyboards.
pub const KEYS: Keys = Keys { is_key: seat::is_key, has_keymap: seat::has_keymap };

impl Compositor {
    /// Puts the file in force as it is now.
    ///
    /// # Errors
    /// [`ReloadError`], logged already; what was in force stays, where only parts are at fault for those.
    pub fn reload(&mut self) -> Result<(), ReloadError> {
        let Some(source) = &self.source else { return Ok(()) };
        let path = source.path().map(|path| path.display().to_string()).unwrap_or_default();
        let done = match source.load(&KEYS) {
            Ok(config) => {
                tracing::info!(path, "configuration read");
                self.apply(config)
            }
            Err(error) => Err(error.into()),
        };
        if let Err(error) = &done {
            tracing::warn!("{}; what was in force stays", super::capture::with_causes(error));
        }
        done
    }

    fn apply(&mut self, config: Config) -> Result<(), ReloadError> {
        if needs_restart(&self.config, &config) {
            tracing::info!("some of what changed is read at start only");
        }
        if config.log != self.config.log {
            (self.set_log_filter)(&config.log.filter);
        }
        self.config = config;
        let taken = self.configure();
        self.arrange_screens();
        self.screens.iter_mut().for_each(|screen| screen.schedule.queue());
        taken
    }

    /// Lets the desktop take the configuration in force.
    pub(super) fn configure(&mut self) -> Result<(), ReloadError> {
        let taken = self.server.state.set_config(&self.config);
        taken.map_err(|errors| {
            let texts: Vec<_> = errors.iter().map(|error| super::capture::with_causes(error)).collect();
            ReloadError::Parts(texts.join("; "))
        })
    }
}

/// Why the configuration is not in force, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file is none.
    #[error(transparent)]
    File(#[from] LoadError),
    /// Parts of it mean nothing on this machine.
    #[error("{0}")]
    Parts(String),
}

/// Whether something changed that only a new start puts in force.
fn needs_restart(old: &Config, new: &Config) -> bool {
    let modes = |config: &Config| config.outputs.iter().map(|(name, o)| (name.clone(), o.mode)).collect::<Vec<_>>();
    old.renderer != new.renderer || old.headless != new.headless || old.nested != new.nested || modes(old) != modes(new)
}
