//! A client's image in memory that a renderer takes as a dma-buf.
//!
//! On a kernel with udmabuf it is one: a sealed memfd behind /dev/udmabuf. Elsewhere it is the memfd itself, which only
//! the software drivers take (the wl adapter refuses such descriptors before a renderer sees them).

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use transom::domain::dmabuf::{Modifier, Pair, Params, Plane, planes_of};
use transom::domain::format::Fourcc;
use transom::domain::geometry::Size;
use transom::ports::renderer::Dmabuf;

use super::kernel;
use super::texel::{Rgba, encode};

/// What the memory is a multiple of.
const PAGE: u64 = 4096;

/// The image, and the client's way to write it.
#[derive(Debug)]
pub(crate) struct ClientImage {
    /// As the renderer gets it.
    pub(crate) dmabuf: Dmabuf,
    file: File,
}

/// Where an image lies in its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// First byte.
    pub(crate) offset: u32,
    /// Bytes from row to row.
    pub(crate) stride: u32,
}

impl Place {
    /// At the start, with the stride that software drivers choose themselves: a multiple of 64.
    pub(crate) fn usual(format: Fourcc, size: Size) -> Self {
        let texel = format.info().expect("a format of the table").texel_bytes;
        Self { offset: 0, stride: (size.w as u32 * texel).next_multiple_of(64) }
    }
}

impl ClientImage {
    /// An image whose every texel is `color(x, y)`; bytes between rows are ones.
    pub(crate) fn new(
        format: Fourcc,
        modifier: Modifier,
        size: Size,
        place: Place,
        color: impl Fn(i32, i32) -> Rgba,
    ) -> Self {
        let bytes = (u64::from(place.offset) + u64::from(place.stride) * size.h as u64).next_multiple_of(PAGE);
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create("client image", flags).expect("a memfd"));
        file.write_all_at(&vec![0xff; bytes as usize], 0).expect("a memfd takes bytes");
        let fd = match kernel::udmabuf(&file, bytes) {
            Some(fd) => fd,
            None => file.as_fd().try_clone_to_owned().expect("a descriptor"),
        };
        let image = Self { dmabuf: dmabuf(format, modifier, size, place, fd, bytes), file };
        image.paint(color);
        image
    }

    /// Writes every texel as its client.
    pub(crate) fn paint(&self, color: impl Fn(i32, i32) -> Rgba) {
        let layout = &self.dmabuf.layout;
        let info = layout.format().info().expect("a format of the table");
        let plane = layout.planes()[0];
        for y in 0..layout.size().h {
            let mut row = Vec::new();
            (0..layout.size().w).for_each(|x| encode(info, color(x, y), &mut row));
            let at = u64::from(plane.offset) + u64::from(plane.stride) * y as u64;
            self.file.write_all_at(&row, at).expect("a memfd takes bytes");
        }
    }

    /// The same memory as another image, laid out as the caller says.
    pub(crate) fn again(&self, format: Fourcc, modifier: Modifier, size: Size, place: Place) -> Dmabuf {
        let fd = self.dmabuf.fds[0].try_clone().expect("a descriptor");
        dmabuf(format, modifier, size, place, fd, u64::MAX)
    }
}

fn dmabuf(format: Fourcc, modifier: Modifier, size: Size, place: Place, fd: OwnedFd, bytes: u64) -> Dmabuf {
    let mut params = Params::default();
    let plane = Plane { offset: place.offset, stride: place.stride };
    params.add(0, plane, modifier, fd).expect("a first plane");
    let planes = planes_of(format).expect("a format of the table").len() as u8;
    let offered = |format, modifier| Some(Pair { format, modifier, planes });
    let (layout, fds) = params.finish(size, format, offered, |_| bytes).expect("a layout inside its memory");
    let distinct = (0..fds.len()).map(|plane| plane == 0).collect();
    Dmabuf { layout, fds: fds.into_iter().map(Arc::new).collect(), distinct }
}

/// Lets `reader` see the bytes of a descriptor that can be mapped.
pub(crate) fn read<T>(fd: impl AsFd, bytes: usize, reader: impl FnOnce(&[u8]) -> T) -> T {
    let length = std::num::NonZeroUsize::new(bytes).expect("bytes to read");
    // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
    let mapped = unsafe { mmap(None, length, ProtFlags::PROT_READ, MapFlags::MAP_SHARED, fd, 0) };
    let start: NonNull<u8> = mapped.expect("a descriptor that can be mapped").cast();
    // SAFETY: the mapping is as long as the memory behind it (the caller's), and the tests write it between calls only.
    let answer = reader(unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) });
    // SAFETY: mapped above, and no longer looked at.
    unsafe { munmap(start.cast(), bytes) }.expect("an unmapping");
    answer
}
