//! The rules of composition, without I/O: geometry, regions, pixel formats, scenes, damage, planes, schedules, windows.
//!
//! Nothing here knows a clock, a file, a GPU or a protocol; every function is a value in, a value out, so each is
//! tested without hardware. Coordinate spaces are named in each type's docs: *buffer* (texels of client storage),
//! *surface* (logical, what the client says), *logical* (the desktop), *physical* (pixels of an output's framebuffer).
//!
//! Start at [`geometry`], then [`scene`]; the walk of a frame goes on in `ports::renderer`.

pub mod action;
pub mod animation;
pub mod binding;
pub mod buffer;
pub mod config;
pub mod damage;
pub mod desktop;
pub mod dmabuf;
pub mod fence;
pub mod format;
pub mod frame;
pub mod geometry;
pub mod layout;
pub mod mode;
pub mod output;
pub mod plane;
pub mod popup;
pub mod region;
pub mod scene;
pub mod schedule;
pub mod share;
pub mod surface;
pub mod transform;
pub mod visibility;
pub mod window;
pub mod workspace;
pub mod yuv;
