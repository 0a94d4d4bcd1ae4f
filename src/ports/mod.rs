//! What the application asks of the world: one trait a file, each as short as its job.
//!
//! Ports know `domain` and nothing else (and `raw-window-handle`, the neutral name of a window). Adapters implement
//! them; the application is written against them alone.

pub mod input;
pub mod output;
pub mod pool;
pub mod renderer;
