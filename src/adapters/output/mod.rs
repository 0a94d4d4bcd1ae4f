//! What shows frames: implementations of [`ports::output::Output`](crate::ports::output::Output).

pub mod headless;
#[cfg(feature = "nested")]
pub mod nested;
