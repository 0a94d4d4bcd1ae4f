//! Transom: a Vulkan render adapter for Wayland compositors, and the compositor that runs it.
//!
//! The map of the house, dependencies pointing inward (adapters → ports → domain):
//! - [`domain`]: the rules, pure: geometry, regions, formats, scenes, damage, planes, schedules, windows, config;
//! - [`ports`]: what the application asks of the world: renderer, output, input, client memory.
//! - [`adapters`]: who answers it;
//! - [`app`]: the loop that ties them together.

pub mod adapters;
pub mod app;
pub mod domain;
pub mod ports;
