//! What only a real kernel shows: clients' dma-bufs and fences, from the protocol to the picture.
//!
//! A client, the server and the Vulkan renderer on one thread; memory is udmabuf's, fences are vgem's. Where the kernel
//! has neither, which `tests/vm`'s does, each test says so and is counted as skipped.

mod fences;
mod images;
#[path = "../support/mod.rs"]
mod support;

use std::os::fd::AsFd;

use support::client::{Client, Host};
use support::dmabuf::{ClientImage, Place};
use support::stage::{capture, settle};
use support::{kernel, rig};
use transom::adapters::vulkan::{Options as Vulkans, ReadFences, Vulkan};
use transom::adapters::wayland::latch::Item;
use transom::adapters::wayland::state::Options;
use transom::adapters::wayland::surface::SurfaceKey;
use transom::adapters::wayland::{dmabuf, fence};
use transom::domain::damage::Tracker;
use transom::domain::dmabuf::Modifier;
use transom::domain::fence::Policy;
use transom::domain::format::XRGB8888;
use transom::domain::frame::{FrameSerial, Time};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::output::OutputId;
use transom::domain::scene::{Color, Role, Scene};
use transom::ports::renderer::{Pixels, Renderer, TargetId};
use wayland_client::Proxy;
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_buffer_params_v1::Flags;
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_dmabuf_v1::ZwpLinuxDmabufV1;

pub(crate) const OUTPUT: Size = Size::new(64, 32);
pub(crate) const FRAME_NS: u64 = 16_666_667;

/// One output that shows surfaces side by side, rendered by Vulkan under validation.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) output: OutputId,
    pub(crate) renderer: Vulkan,
    pub(crate) target: TargetId,
    pub(crate) scene: Scene,
    tracker: Tracker,
    shown: Vec<(SurfaceKey, f64)>,
}

/// Runs `test` on a stage of this policy; or says why it cannot.
pub(crate) fn on_stage(policy: Policy, test: impl FnOnce(&mut Stage, &mut Client)) {
    on_stage_with(policy, ReadFences::Off, test);
}

/// As [`on_stage`], with frames that leave their fence behind or not.
pub(crate) fn on_stage_with(policy: Policy, read_fences: ReadFences, test: impl FnOnce(&mut Stage, &mut Client)) {
    if !kernel::has_udmabuf() {
        return rig::skip("clients' dma-bufs", "this kernel has no udmabuf (./dev vm has)");
    }
    let (mut stage, mut client) = Stage::new(policy, read_fences);
    let messages = stage.renderer.messages();
    test(&mut stage, &mut client);
    drop(client);
    stage.host.dispatch();
    stage.host.dispatch();
    stage.drain();
    let core = &stage.host.server.state.core;
    assert_eq!((core.dmabufs.count(), core.buffers.alive(), core.buffers.held()), (0, 0, 0), "left of the client");
    assert_eq!(core.fences.waiting(), 0, "fences waited for though nobody is there");
    stage.host.server.state.forget_garbage(&mut stage.renderer);
    stage.drain();
    let held = stage.renderer.holdings();
    assert_eq!((held.textures, held.deferred_entries), (0, 0), "left in the renderer");
    drop(stage);
    assert_eq!(messages.texts(), Vec::<String>::new(), "the validation layers speak");
}

impl Stage {
    fn new(policy: Policy, read_fences: ReadFences) -> (Self, Client) {
        let options = Vulkans { validation: true, read_fences, ..Vulkans::default() };
        let mut renderer = Vulkan::new(&options).expect("a Vulkan device");
        let offers = renderer.capabilities();
        let mut host = Host::with(Options {
            dmabuf: dmabuf::Options { pairs: offers.dmabuf_pairs.clone(), device: Some(1) },
            fences: fence::Options { policy, queue_waits: offers.can("sync-file-import") },
            ..Options::default()
        });
        let output = host.add_output("TEST-1", OUTPUT, 1.0);
        let client = host.connect();
        let target = renderer.create_offscreen(OUTPUT).expect("a target");
        let (scene, tracker) = (Scene::new(), Tracker::new());
        (Self { host, output, renderer, target, scene, tracker, shown: Vec::new() }, client)
    }

    /// Shows a client's surface with its left edge at `x`.
    pub(crate) fn show(&mut self, surface: &WlSurface, x: f64) {
        let id = surface.id().protocol_id();
        let mut all = self.host.server.state.core.surfaces.iter();
        use smithay::reexports::wayland_server::Resource;
        let known = all.find(|(_, known)| known.wl.id().protocol_id() == id);
        let key = known.expect("the server knows the surface").0;
        self.shown.push((key, x));
    }

    /// Lets time pass, and what signalled meanwhile take effect.
    pub(crate) fn pass(&mut self, ns: u64) {
        self.host.now = Time::from_ns(self.host.now.as_ns() + ns);
        self.host.server.state.fences_signalled(self.host.now);
    }

    /// One frame, as the application makes it.
    pub(crate) fn frame(&mut self) -> FrameSerial {
        let Self { host, output, renderer, target, scene, tracker, shown } = self;
        frame(host, *output, renderer, *target, (scene, tracker, shown))
    }

    /// The renderer goes, with its textures and target.
    pub(crate) fn lose_renderer(&mut self) {
        self.host.server.state.renderer_lost();
        self.renderer = Vulkan::new(&Vulkans { validation: true, ..Vulkans::default() }).expect("a Vulkan device");
    }

    /// One frame by another renderer.
    pub(crate) fn frame_by(&mut self, renderer: &mut dyn Renderer, target: TargetId) -> FrameSerial {
        let Self { host, output, scene, tracker, shown, .. } = self;
        frame(host, *output, renderer, target, (scene, tracker, shown))
    }

    /// Gives back what complete frames read.
    pub(crate) fn drain(&mut self) {
        settle(&mut self.renderer);
        let state = &mut self.host.server.state;
        self.renderer.drain(&mut |buffer| state.renderer_released(buffer)).expect("a drain");
        self.host.server.flush(self.host.now).expect("the display can be written");
    }

    /// What the output shows once all frames are complete.
    pub(crate) fn picture(&mut self) -> Pixels {
        capture(&mut self.renderer, self.target, Rect::from_size(OUTPUT))
    }

    /// The colour at the left edge of a surface shown at `x`, once all frames are complete.
    pub(crate) fn color_at(&mut self, x: i32) -> [u8; 3] {
        support::picture::rgb(&self.picture(), Point::new(x, 0))
    }
}

/// One frame of what is shown, as the application makes it.
fn frame(
    host: &mut Host,
    output: OutputId,
    renderer: &mut dyn Renderer,
    target: TargetId,
    (scene, tracker, shown): (&mut Scene, &mut Tracker, &[(SurfaceKey, f64)]),
) -> FrameSerial {
    let state = &mut host.server.state;
    state.import_dmabufs(renderer).expect("a device that is not lost");
    let tree = |&(root, x): &(SurfaceKey, f64)| Item::Tree { root, x, y: 0.0, alpha: 1.0, role: Role::Content };
    let items: Vec<Item> = shown.iter().map(tree).collect();
    state.core.latch(output, &items, tracker, Color::BLACK, scene);
    tracker.compare(scene);
    let acquired = renderer.acquire(target).expect("a target");
    state.upload(output, renderer, scene).expect("a device that is not lost");
    let damage = tracker.for_age(scene, acquired.age);
    let ticket = state.render(output, renderer, target, scene, damage).expect("a frame");
    tracker.rendered(scene);
    state.frame_submitted(output);
    host.server.flush(host.now).expect("the display can be written");
    ticket.serial
}

/// An opaque image of one colour, 16 by 16.
pub(crate) fn plain(color: [u8; 3]) -> ClientImage {
    let size = Size::new(16, 16);
    let place = Place::usual(XRGB8888, size);
    ClientImage::new(XRGB8888, Modifier::LINEAR, size, place, |_, _| support::stage::rgba(color))
}

/// The image as a wl_buffer of the client's, imported.
pub(crate) fn buffer(stage: &mut Stage, client: &mut Client, image: &ClientImage) -> WlBuffer {
    let params = client.bind::<ZwpLinuxDmabufV1>().create_params(&client.handle, ());
    let layout = &image.dmabuf.layout;
    let (high, low) = layout.modifier().halves();
    for (index, plane) in (0..).zip(layout.planes()) {
        params.add(image.dmabuf.fds[index as usize].as_fd(), index, plane.offset, plane.stride, high, low);
    }
    params.create(layout.size().w, layout.size().h, layout.format().0, Flags::empty());
    client.roundtrip(&mut stage.host);
    stage.host.server.state.import_dmabufs(&mut stage.renderer).expect("a device that is not lost");
    client.roundtrip(&mut stage.host);
    params.destroy();
    assert_eq!(client.events.dmabuf.failed, 0, "refused: {layout:?}");
    client.events.dmabuf.created.pop().expect("a buffer")
}

/// Attaches a buffer, damages all of it and commits.
pub(crate) fn put(surface: &WlSurface, buffer: &WlBuffer) {
    surface.attach(Some(buffer), 0, 0);
    surface.damage_buffer(0, 0, i32::MAX, i32::MAX);
    surface.commit();
}
