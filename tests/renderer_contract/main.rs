//! What `ports::Renderer` promises, asked of every implementation: the tests' CPU reference, and the Vulkan adapter in
//! modes that between them take each of its paths.
//!
//! One file for each kind of promise: [`formats`], [`geometry`], [`blending`], [`uploads`], [`damage`], [`lifetimes`],
//! [`dmabufs`], [`fences`], [`limits`]; then [`random`], where scenes nobody thought of must look the same on both. Pictures are compared with
//! values written down here where those are plain, else with the reference's.

#[path = "../support/mod.rs"]
mod support;

mod blending;
mod damage;
mod dmabufs;
mod fences;
mod formats;
mod geometry;
mod lifetimes;
mod limits;
mod random;
mod subjects;
mod uploads;
