//! Real programs as clients of the built compositor, headless, with the validation layers on. Each maps a window, animates
//! or answers, is seen in a screenshot, ends without an error when asked, and leaves nothing behind.
//!
//! [`scene`] is where that happens: one compositor and one program. [`weston`]'s demonstrations each show one part of the
//! protocol and say what they ought to look like; [`terminals`] are typed into; [`gtk`] is a toolkit; [`info`] compares
//! the globals on offer with `globals.txt`; [`cursor`] looks at the pointer; [`clipboard`] copies and pastes.

#![allow(clippy::unwrap_used, reason = "the test fails with it")]

#[path = "../support/mod.rs"]
mod support;

mod clipboard;
mod cursor;
mod gtk;
mod info;
mod scene;
mod terminals;
mod weston;
