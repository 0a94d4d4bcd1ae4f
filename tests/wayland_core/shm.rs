//! wl_shm and whatever a client can lie about in it.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::memfd::MFdFlags;
use wayland_client::protocol::wl_shm;

use crate::support::client::{Host, Pool, memory};

const SHM: &str = "wl_shm";
const POOL: &str = "wl_shm_pool";
const FORMAT: u32 = wl_shm::Error::InvalidFormat as u32;
const STRIDE: u32 = wl_shm::Error::InvalidStride as u32;
const FD: u32 = wl_shm::Error::InvalidFd as u32;

#[test]
fn shm_layout_that_lies_is_the_error_of_its_argument() {
    let argb = wl_shm::Format::Argb8888;
    #[rustfmt::skip]
    let table = [
        ("offset below zero", (-4, 4, 4, 16, argb), STRIDE),
        ("offset past the end", (4096, 4, 4, 16, argb), STRIDE),
        ("last row past the end", (4096 - 60, 4, 4, 16, argb), STRIDE),
        ("no width", (0, 0, 4, 16, argb), STRIDE),
        ("negative height", (0, 4, -4, 16, argb), STRIDE),
        ("stride below a row", (0, 4, 4, 12, argb), STRIDE),
        ("stride below zero", (0, 4, 4, -16, argb), STRIDE),
        ("rows that overflow", (i32::MAX, i32::MAX, i32::MAX, i32::MAX, argb), STRIDE),
        ("height that overflows", (0, 1, i32::MAX, i32::MAX - 3, argb), STRIDE),
        ("format nobody has", (0, 4, 4, 16, wl_shm::Format::Yuyv), FORMAT),
    ];
    for (lie, (offset, w, h, stride, format), code) in table {
        let mut host = Host::new();
        let mut client = host.connect();
        let pool = client.pool(4096);
        pool.buffer(&client, offset, w, h, stride, format);
        assert_eq!(client.expect_error(&mut host), (POOL.into(), code), "{lie}");
        // Another client goes on.
        host.connect();
    }
}

#[test]
fn shm_file_that_lies_is_invalid_fd() {
    let plain = |len| memory(MFdFlags::empty(), len);
    let writable = plain(4096);
    let read_only = || File::open(format!("/proc/self/fd/{}", writable.as_raw_fd())).unwrap().into();
    let table: [(&str, OwnedFd, i32, u32); 7] = [
        ("zero length", plain(0), 4096, FD),
        ("too short", plain(4095), 4096, FD),
        ("a device", File::open("/dev/zero").unwrap().into(), 4096, FD),
        ("a pipe", nix::unistd::pipe().unwrap().1, 4096, FD),
        ("read-only", read_only(), 4096, FD),
        ("size zero", plain(4096), 0, STRIDE),
        ("size below zero", plain(4096), -1, STRIDE),
    ];
    for (lie, file, len, code) in table {
        let mut host = Host::new();
        let mut client = host.connect();
        Pool::new(&client, file, len);
        assert_eq!(client.expect_error(&mut host), (SHM.into(), code), "{lie}");
        assert_eq!(host.server.state.core.shm.count().pools(), 0, "{lie}");
    }
}

#[test]
fn shm_pool_made_smaller_or_longer_than_its_file_is_invalid_fd() {
    for len in [4095, 0, -1, 8192] {
        let mut host = Host::new();
        let mut client = host.connect();
        client.pool(4096).pool.resize(len);
        assert_eq!(client.expect_error(&mut host), (POOL.into(), FD), "resize to {len}");
    }
}

#[test]
fn shm_formats_always_include_the_two_that_every_client_knows() {
    let mut host = Host::new();
    let mut client = host.connect();
    client.bind::<wl_shm::WlShm>();
    client.roundtrip(&mut host);
    assert!(client.events.formats.contains(&0) && client.events.formats.contains(&1));
}

#[test]
fn pools_of_one_client_past_the_bound_are_refused() {
    let mut host = Host::new();
    let mut client = host.connect();
    let pools: Vec<Pool> = (0..1025).map(|_| Pool::new(&client, memory(MFdFlags::empty(), 4), 4)).collect();
    assert_eq!(client.expect_error(&mut host), (SHM.into(), FD));
    drop((pools, client));
    host.dispatch();
    host.dispatch();
    assert_eq!(host.server.state.core.shm.count().pools(), 0);
}
