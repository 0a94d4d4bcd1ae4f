//! Every surface and what it shows.

/// A surface's place in [`Surfaces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceKey(u64);

/// All surfaces of all clients.
#[derive(Debug, Default)]
pub struct Surfaces {}
