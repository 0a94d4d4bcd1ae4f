//! The dispatch type of every protocol: what clients' requests read and change.
//!
//! In three parts, each the only writer of its own: [`Core`] (surfaces, buffers, outputs), [`Shell`] (windows, panels,
//! popups) and [`Seat`] (input). Requests are answered inside their handlers; what the
//! application must do about them is pushed onto [`State::events`], whose storage is reused.

use std::sync::Arc;

use smithay::reexports::wayland_server::DisplayHandle;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::alpha_modifier::AlphaModifierState;
use smithay::wayland::content_type::ContentTypeState;
use smithay::wayland::fractional_scale::{FractionalScaleHandler, FractionalScaleManagerState};
use smithay::wayland::idle_inhibit::{IdleInhibitHandler, IdleInhibitManagerState};
use smithay::wayland::presentation::PresentationState;
use smithay::wayland::single_pixel_buffer::SinglePixelBufferState;
use smithay::wayland::viewporter::ViewporterState;

use super::buffer::Buffers;
use super::client::Clients;
use super::compositor::{Compositors, Regions};
use super::dmabuf::{self, Dmabufs};
use super::fence::{self, Fences};
use super::image::Images;
use super::latch::Item;
use super::output::Outputs;
use super::seat::Seat;
use super::shell::Shell;
use super::shm::Shm;
use super::surface::Surfaces;
use super::upload::Shares;
use crate::domain::buffer::TextureId;
use crate::domain::format::Fourcc;
use crate::domain::frame::Time;
use crate::domain::geometry::Rect;
use crate::domain::output::OutputId;

/// What the application is asked to do. Drained by it after every dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something that this output shows changed.
    Redraw(OutputId),
    /// Something changed that any output may show.
    RedrawAll,
    /// Start a program, by its command line.
    Spawn(Vec<String>),
    /// Read the configuration again.
    Reload,
    /// Leave.
    Quit,
}

/// What clients are offered.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Formats of wl_shm: the renderer's. ARGB8888 and XRGB8888 are always among them.
    pub shm_formats: Vec<Fourcc>,
    /// What clients may allocate by themselves.
    pub dmabuf: dmabuf::Options,
    /// How their fences are waited for.
    pub fences: fence::Options,
}

/// See the module's docs.
#[derive(Debug)]
pub struct State {
    /// Surfaces, buffers, outputs.
    pub core: Core,
    /// Windows, panels, popups.
    pub shell: Shell,
    /// Keyboard, pointer, touch.
    pub seat: Seat,
    /// What the application is asked to do, oldest first.
    pub events: Vec<Event>,
}

/// Surfaces, buffers, outputs, and the globals that go with them.
#[derive(Debug)]
pub struct Core {
    /// The display that globals and clients live on.
    pub display: DisplayHandle,
    /// When the present dispatch happens.
    pub now: Time,
    /// Every surface and what it shows.
    pub surfaces: Surfaces,
    /// Every output that clients see.
    pub outputs: Outputs,
    /// wl_shm.
    pub shm: Shm,
    /// Client images in dma-bufs.
    pub dmabufs: Dmabufs,
    /// Fences that are waited for.
    pub fences: Fences,
    /// Who reads which buffer.
    pub buffers: Buffers,
    /// Pictures of our own.
    pub images: Images,
    pub(super) compositors: Compositors,
    pub(super) regions: Regions,
    /// Textures of what is gone, for the renderer to forget.
    pub(super) garbage: Vec<TextureId>,
    /// Some surface that nobody sees waits for a frame callback.
    pub(super) hidden_waits: bool,
    /// When hidden surfaces got theirs last.
    pub(super) ticked: Time,
    /// Reused by latches.
    pub(super) items: Vec<Item>,
    /// Reused by uploads.
    pub(super) scratch: Vec<Rect>,
    /// Of the present frame's new textures.
    pub(super) shares: Shares,
    pub(super) clients: Arc<Clients>,
}

impl Core {
    fn new(display: &DisplayHandle, options: Options) -> Self {
        // smithay's states of these hold nothing but the global's id; the globals live as long as the display.
        ViewporterState::new::<State>(display);
        FractionalScaleManagerState::new::<State>(display);
        PresentationState::new::<State>(display, nix::libc::CLOCK_MONOTONIC as u32);
        SinglePixelBufferState::new::<State>(display);
        AlphaModifierState::new::<State>(display);
        ContentTypeState::new::<State>(display);
        IdleInhibitManagerState::new::<State>(display);
        Self {
            display: display.clone(),
            now: Time::default(),
            surfaces: Surfaces::default(),
            outputs: Outputs::new(display),
            shm: Shm::new(display, &options.shm_formats),
            dmabufs: Dmabufs::new(display, options.dmabuf),
            fences: Fences::new(options.fences),
            buffers: Buffers::default(),
            images: Images::default(),
            compositors: Compositors::new(display),
            regions: Regions::default(),
            garbage: Vec::new(),
            hidden_waits: false,
            ticked: Time::default(),
            items: Vec::new(),
            scratch: Vec::new(),
            shares: Shares::default(),
            clients: Arc::default(),
        }
    }

    /// Whether some surface that is seen wants the outputs to stay on (idle-inhibit).
    pub fn is_idle_inhibited(&self) -> bool {
        self.surfaces.iter().any(|(_, surface)| surface.inhibitors > 0 && surface.is_visible())
    }

    /// Connections alive.
    pub fn client_count(&self) -> u64 {
        self.clients.live()
    }
}

impl State {
    /// Announces every global on `display`.
    pub(super) fn new(display: &DisplayHandle, options: Options) -> Self {
        let core = Core::new(display, options);
        Self { core, shell: Shell::new(display), seat: Seat::new(display), events: Vec::new() }
    }
}

impl FractionalScaleHandler for State {
    fn new_fractional_scale(&mut self, surface: WlSurface) {
        self.core.prefer(&surface);
    }
}

impl IdleInhibitHandler for State {
    fn inhibit(&mut self, surface: WlSurface) {
        if let Some(surface) = self.core.surfaces.key(&surface).and_then(|key| self.core.surfaces.get_mut(key)) {
            surface.inhibitors = surface.inhibitors.saturating_add(1);
        }
    }

    fn uninhibit(&mut self, surface: WlSurface) {
        if let Some(surface) = self.core.surfaces.key(&surface).and_then(|key| self.core.surfaces.get_mut(key)) {
            surface.inhibitors = surface.inhibitors.saturating_sub(1);
        }
    }
}

smithay::delegate_viewporter!(State);
smithay::delegate_fractional_scale!(State);
smithay::delegate_presentation!(State);
smithay::delegate_alpha_modifier!(State);
smithay::delegate_content_type!(State);
smithay::delegate_idle_inhibit!(State);
smithay::delegate_output!(State);
smithay::delegate_single_pixel_buffer!(State);

impl smithay::wayland::buffer::BufferHandler for State {
    fn buffer_destroyed(&mut self, _buffer: &smithay::reexports::wayland_server::protocol::wl_buffer::WlBuffer) {}
}
