//! Where input comes from: each file implements [`crate::ports::input::Input`].

#[cfg(feature = "nested")]
pub mod nested;
