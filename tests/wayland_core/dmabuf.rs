//! zwp_linux_dmabuf_v1 and whatever a client can lie about in it. Images that are imported are tested where there are
//! dma-bufs: on a kernel that makes them.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::MFdFlags;
use transom::adapters::wayland::dmabuf;
use transom::adapters::wayland::state::Options;
use transom::domain::dmabuf::{Modifier, Pair};
use transom::domain::format::{ARGB8888, Fourcc, XRGB8888};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_buffer_params_v1::{
    Error, Flags, ZwpLinuxBufferParamsV1,
};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_dmabuf_v1::ZwpLinuxDmabufV1;

use crate::support::client::{Client, Host, memory};
use crate::support::dmabuf::read;

const PARAMS: &str = "zwp_linux_buffer_params_v1";
const NV12: Fourcc = Fourcc::new(b"NV12");
const VENDOR: Modifier = Modifier(0x0100_0000_0000_0001);
const DEVICE: u64 = 0xe280;

/// Index, offset, stride, modifier.
type Told = (u32, u32, u32, Modifier);
/// The lie, the planes, width and height, the format, the error.
type Lie<'a> = (&'a str, &'a [Told], (i32, i32), Fourcc, Error);
/// What it is, and how to have one.
type Kind = (&'static str, fn() -> OwnedFd);

fn pairs() -> Vec<Pair> {
    let pair = |format, modifier, planes| Pair { format, modifier, planes };
    vec![
        pair(ARGB8888, Modifier::LINEAR, 1),
        pair(XRGB8888, Modifier::LINEAR, 1),
        pair(XRGB8888, VENDOR, 2),
        pair(NV12, Modifier::LINEAR, 2),
    ]
}

fn host(device: Option<u64>) -> Host {
    Host::with(Options { dmabuf: dmabuf::Options { pairs: pairs(), device }, ..Options::default() })
}

/// As [`Client::bind`], at a version of the test's choice.
fn bind_version(client: &Client, version: u32) -> ZwpLinuxDmabufV1 {
    let name = client.events.globals["zwp_linux_dmabuf_v1"].0;
    client.registry.bind(name, version, &client.handle, ())
}

fn params(client: &Client) -> ZwpLinuxBufferParamsV1 {
    client.bind::<ZwpLinuxDmabufV1>().create_params(&client.handle, ())
}

/// Adds a plane.
fn add(params: &ZwpLinuxBufferParamsV1, fd: &OwnedFd, (index, offset, stride, modifier): Told) {
    let (high, low) = modifier.halves();
    params.add(fd.as_fd(), index, offset, stride, high, low);
}

fn plain() -> OwnedFd {
    memory(MFdFlags::empty(), 1 << 16)
}

#[test]
fn planes_that_lie_are_the_error_of_their_fault() {
    let linear = Modifier::LINEAR;
    #[rustfmt::skip]
    let table: [Lie<'_>; 12] = [
        ("a fifth plane", &[(4, 0, 256, linear)], (64, 64), XRGB8888, Error::PlaneIdx),
        ("a plane twice", &[(0, 0, 256, linear), (0, 0, 256, linear)], (64, 64), XRGB8888, Error::PlaneSet),
        ("no plane", &[], (64, 64), XRGB8888, Error::Incomplete),
        ("a gap", &[(0, 0, 64, linear), (2, 0, 64, linear)], (64, 64), NV12, Error::Incomplete),
        ("one plane too many", &[(0, 0, 256, linear), (1, 0, 256, linear)], (64, 64), XRGB8888, Error::Incomplete),
        ("too few of a vendor's", &[(0, 0, 256, VENDOR)], (64, 64), XRGB8888, Error::Incomplete),
        ("two modifiers", &[(0, 0, 256, linear), (1, 0, 256, VENDOR)], (64, 64), XRGB8888, Error::InvalidFormat),
        ("a modifier never offered", &[(0, 0, 256, Modifier(5))], (64, 64), XRGB8888, Error::InvalidFormat),
        ("a format never offered", &[(0, 0, 256, linear)], (64, 64), Fourcc::new(b"R16 "), Error::InvalidFormat),
        ("no width", &[(0, 0, 256, linear)], (0, 64), XRGB8888, Error::InvalidDimensions),
        ("a negative height", &[(0, 0, 256, linear)], (64, -1), XRGB8888, Error::InvalidDimensions),
        ("a stride below a row", &[(0, 0, 252, linear)], (64, 64), XRGB8888, Error::OutOfBounds),
    ];
    for (lie, planes, (w, h), format, code) in table {
        for immediate in [false, true] {
            let mut host = host(Some(DEVICE));
            let mut client = host.connect();
            let (params, fd) = (params(&client), plain());
            planes.iter().for_each(|plane| add(&params, &fd, *plane));
            if immediate {
                params.create_immed(w, h, format.0, Flags::empty(), &client.handle, ());
            } else {
                params.create(w, h, format.0, Flags::empty());
            }
            assert_eq!(client.expect_error(&mut host), (PARAMS.into(), code as u32), "{lie}");
            host.dispatch();
            assert_eq!(
                (host.server.state.core.dmabufs.count(), host.server.state.core.buffers.alive()),
                (0, 0),
                "{lie}"
            );
            // Another client goes on.
            host.connect();
        }
    }
}

#[test]
fn planes_used_twice_are_an_error() {
    let mut host = host(Some(DEVICE));
    let mut client = host.connect();
    let (params, fd) = (params(&client), plain());
    add(&params, &fd, (0, 0, 256, Modifier::LINEAR));
    params.create(64, 64, XRGB8888.0, Flags::empty());
    client.roundtrip(&mut host);
    params.create(64, 64, XRGB8888.0, Flags::empty());
    assert_eq!(client.expect_error(&mut host), (PARAMS.into(), Error::AlreadyUsed as u32));
}

#[test]
fn descriptor_that_is_no_dmabuf_is_refused_and_closed() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let kinds: [Kind; 4] = [
        ("a memfd", plain),
        ("a device", || File::open("/dev/zero").unwrap().into()),
        ("a pipe", || nix::unistd::pipe().unwrap().0),
        ("a directory", || File::open("/").unwrap().into()),
    ];
    let mut host = host(Some(DEVICE));
    let mut client = host.connect();
    client.roundtrip(&mut host);
    let before = descriptors();
    for (n, (kind, make)) in kinds.into_iter().enumerate() {
        let params = params(&client);
        add(&params, &make(), (0, 0, 256, Modifier::LINEAR));
        params.create(64, 64, XRGB8888.0, Flags::empty());
        client.roundtrip(&mut host);
        assert_eq!((client.events.dmabuf.failed, descriptors()), (n + 1, before), "{kind}");
        params.destroy();
    }
    let params = params(&client);
    add(&params, &plain(), (0, 0, 256, Modifier::LINEAR));
    params.create_immed(64, 64, XRGB8888.0, Flags::empty(), &client.handle, ());
    assert_eq!(client.expect_error(&mut host), (PARAMS.into(), Error::InvalidWlBuffer as u32));
    drop(client);
    host.dispatch();
    assert_eq!((host.server.state.core.dmabufs.count(), host.server.state.core.buffers.alive()), (0, 0));
}

#[test]
fn planes_never_used_are_closed_with_their_object() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut host = host(Some(DEVICE));
    let mut client = host.connect();
    client.roundtrip(&mut host);
    let before = descriptors();
    let params = params(&client);
    let fd = plain();
    (0..4).for_each(|index| add(&params, &fd, (index, 0, 256, Modifier::LINEAR)));
    client.roundtrip(&mut host);
    assert!(descriptors() > before);
    params.destroy();
    client.roundtrip(&mut host);
    drop(fd);
    assert_eq!(descriptors(), before);
}

#[test]
fn feedback_tells_the_table_the_device_and_one_tranche_once() {
    let mut host = host(Some(DEVICE));
    let mut client = host.connect();
    let dmabuf = client.bind::<ZwpLinuxDmabufV1>();
    assert_eq!(client.events.globals["zwp_linux_dmabuf_v1"].1, 5);
    let default = dmabuf.get_default_feedback(&client.handle, ());
    client.roundtrip(&mut host);
    let told = &client.events.dmabuf;
    let order = [
        "format_table",
        "main_device",
        "tranche_target_device",
        "tranche_flags",
        "tranche_formats",
        "tranche_done",
        "done",
    ];
    assert_eq!(told.events, order);
    assert_eq!(told.devices, [DEVICE.to_ne_bytes(), DEVICE.to_ne_bytes()]);
    assert!(told.pairs.is_empty() && told.formats.is_empty(), "told twice over");
    let (table, bytes) = told.table.as_ref().unwrap();
    let seals = SealFlag::from_bits_truncate(fcntl(table, FcntlArg::F_GET_SEALS).unwrap());
    assert!(seals.contains(SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW));
    let rows: Vec<(u32, u64)> = read(table, *bytes as usize, |bytes| {
        let row = |row: &[u8]| {
            (u32::from_ne_bytes(row[..4].try_into().unwrap()), u64::from_ne_bytes(row[8..].try_into().unwrap()))
        };
        bytes.chunks_exact(16).map(row).collect()
    });
    let chosen: Vec<_> =
        told.indices.chunks_exact(2).map(|i| rows[usize::from(u16::from_ne_bytes([i[0], i[1]]))]).collect();
    assert_eq!(chosen, pairs().iter().map(|pair| (pair.format.0, pair.modifier.0)).collect::<Vec<_>>());
    // A surface's own is the same, and neither is told again.
    let surface = client.surface();
    dmabuf.get_surface_feedback(&surface, &client.handle, ());
    client.roundtrip(&mut host);
    surface.commit();
    client.roundtrip(&mut host);
    assert_eq!(client.events.dmabuf.events, [order, order].concat());
    default.destroy();
    surface.destroy();
    client.roundtrip(&mut host);
}

#[test]
fn older_versions_are_told_modifiers_or_formats() {
    let mut host = host(Some(DEVICE));
    let mut client = host.connect();
    bind_version(&client, 3);
    client.roundtrip(&mut host);
    let all: Vec<_> = pairs().iter().map(|pair| (pair.format.0, pair.modifier.0)).collect();
    assert_eq!(client.events.dmabuf.pairs, all);
    bind_version(&client, 1);
    client.roundtrip(&mut host);
    // What can be had without saying a modifier.
    assert_eq!(client.events.dmabuf.formats, [ARGB8888, XRGB8888, NV12].map(|format| format.0));
}

#[test]
fn global_without_a_device_ends_at_version_three_and_without_formats_is_not_there() {
    let mut without_device = host(None);
    let client = without_device.connect();
    assert_eq!(client.events.globals["zwp_linux_dmabuf_v1"].1, 3);
    let mut without_formats = Host::new();
    assert!(!without_formats.connect().events.globals.contains_key("zwp_linux_dmabuf_v1"));
}
