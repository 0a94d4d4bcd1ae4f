//! Surfaces, buffers and frames as clients see them: a client and a server on one thread, a renderer that keeps bytes.

mod buffer;
mod crowd;
mod dmabuf;
mod frame;
mod shm;
mod steady;
#[path = "../support/mod.rs"]
mod support;
mod surface;
mod turns;

use smithay::reexports::wayland_server;
use support::client::{Client, Host};
use support::recorder::Recorder;
use transom::adapters::wayland::latch::Item;
use transom::adapters::wayland::surface::SurfaceKey;
use transom::domain::buffer::TextureId;
use transom::domain::damage::Tracker;
use transom::domain::geometry::{Rect, Size};
use transom::domain::output::OutputId;
use transom::domain::scene::{Color, Paint, Role, Scene};
use wayland_client::Proxy;
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_surface::WlSurface;

pub(crate) const RED: u32 = 0xffff_0000;
pub(crate) const GREEN: u32 = 0xff00_ff00;
pub(crate) const BLUE: u32 = 0xff00_00ff;

/// One output that shows surfaces at the desktop's origin, the first in front.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) output: OutputId,
    pub(crate) tracker: Tracker,
    pub(crate) scene: Scene,
    pub(crate) renderer: Recorder,
    pub(crate) shown: Vec<SurfaceKey>,
}

impl Stage {
    pub(crate) fn new() -> (Self, Client) {
        Self::at_scale(1.0)
    }

    pub(crate) fn at_scale(scale: f64) -> (Self, Client) {
        let mut host = Host::new();
        let output = host.add_output("TEST-1", Size::new(200, 100), scale);
        let client = host.connect();
        let (tracker, scene, renderer) = (Tracker::new(), Scene::new(), Recorder::default());
        (Self { host, output, tracker, scene, renderer, shown: Vec::new() }, client)
    }

    /// Shows a client's surface behind those shown already.
    pub(crate) fn show(&mut self, surface: &WlSurface) {
        let key = self.key(surface);
        self.shown.push(key);
    }

    pub(crate) fn key(&self, surface: &WlSurface) -> SurfaceKey {
        let id = surface.id().protocol_id();
        let mut all = self.host.server.state.core.surfaces.iter();
        all.find(|(_, known)| same_id(&known.wl, id)).expect("the server knows the surface").0
    }

    /// One frame: latched, uploaded, rendered.
    pub(crate) fn frame(&mut self) {
        self.latch();
        self.host
            .server
            .state
            .upload(self.output, &mut self.renderer, &mut self.scene)
            .expect("a renderer that is not lost");
        self.tracker.compare(&self.scene);
        self.tracker.rendered(&self.scene);
        self.host.server.state.frame_submitted(self.output);
        self.host.server.flush(self.host.now).expect("the display can be written");
    }

    pub(crate) fn latch(&mut self) {
        let tree = |&root: &SurfaceKey| Item::Tree { root, x: 0.0, y: 0.0, alpha: 1.0, role: Role::Content };
        let items: Vec<Item> = self.shown.iter().map(tree).collect();
        let core = &mut self.host.server.state.core;
        core.latch(self.output, &items, &self.tracker, Color::BLACK, &mut self.scene);
    }

    /// The texture behind the frontmost element.
    pub(crate) fn texture(&self) -> TextureId {
        match self.scene.elements().last().map(|element| element.paint) {
            Some(Paint::Texture { texture, .. }) => texture,
            other => panic!("no texture in front but {other:?}"),
        }
    }

    /// The texel in the top left corner of the frontmost element.
    pub(crate) fn pixel(&self) -> u32 {
        self.renderer.texel(self.texture(), 0, 0)
    }

    pub(crate) fn damage(&self, index: usize) -> Vec<Rect> {
        self.scene.damage(&self.scene.elements()[index]).to_vec()
    }
}

fn same_id(wl: &wayland_server::protocol::wl_surface::WlSurface, id: u32) -> bool {
    wayland_server::Resource::id(wl).protocol_id() == id
}

/// Attaches a buffer, damages all of it and commits.
pub(crate) fn put(surface: &WlSurface, buffer: &WlBuffer) {
    surface.attach(Some(buffer), 0, 0);
    surface.damage_buffer(0, 0, i32::MAX, i32::MAX);
    surface.commit();
}
