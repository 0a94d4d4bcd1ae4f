//! Shared by the integration tests.

// Each test binary takes the part that it needs.
#![allow(dead_code)]

pub(crate) mod rig;
