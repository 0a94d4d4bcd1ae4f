//! A Wayland client and the server that it talks to, on one thread: what the client says and what the server then does
//! happen when a test says so.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::ftruncate;
use transom::adapters::wayland::Server;
use transom::adapters::wayland::state::Options;
use transom::domain::frame::Time;
use transom::domain::geometry::{Point, Scale, Size};
use transom::domain::output::OutputId;
use transom::domain::transform::Transform;
use transom::ports::output::{Info, Mode};
use wayland_client::backend::protocol::ProtocolError;
use wayland_client::backend::{ObjectId, WaylandError};
use wayland_client::globals::GlobalListContents;
use wayland_client::protocol::{
    wl_buffer, wl_callback, wl_compositor, wl_output, wl_region, wl_registry, wl_shm, wl_shm_pool, wl_subcompositor,
    wl_subsurface, wl_surface,
};
use wayland_client::{Connection, Dispatch, EventQueue, Proxy, QueueHandle, delegate_noop};
use wayland_protocols::wp::alpha_modifier::v1::client::{wp_alpha_modifier_surface_v1, wp_alpha_modifier_v1};
use wayland_protocols::wp::fractional_scale::v1::client::{wp_fractional_scale_manager_v1, wp_fractional_scale_v1};
use wayland_protocols::wp::presentation_time::client::{wp_presentation, wp_presentation_feedback};
use wayland_protocols::wp::single_pixel_buffer::v1::client::wp_single_pixel_buffer_manager_v1;
use wayland_protocols::wp::viewporter::client::{wp_viewport, wp_viewporter};

/// Rounds of dispatching on both sides after which a client that still waits will wait for ever.
const PATIENCE: usize = 10_000;

/// A server without a socket, its clock in the test's hand.
pub(crate) struct Host {
    pub(crate) server: Server,
    pub(crate) now: Time,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    /// One that offers what the test says.
    pub(crate) fn with(options: Options) -> Self {
        let server = Server::unconnected(options).expect("a display without a socket");
        Self { server, now: Time::from_ns(1_000_000_000) }
    }

    /// Plugs in an output at the desktop's origin.
    pub(crate) fn add_output(&mut self, name: &str, size: Size, scale: f64) -> OutputId {
        let info = info(name, size);
        self.server.state.add_output(&info, Point::default(), Scale::from_f64(scale), Transform::Normal)
    }

    /// Connects a client that has bound everything.
    pub(crate) fn connect(&mut self) -> Client {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        self.server.insert_client(theirs).expect("the server takes a client");
        let mut client = Client::new(ours);
        client.roundtrip(self);
        client
    }

    /// Lets the server handle and send whatever there is.
    pub(crate) fn dispatch(&mut self) {
        self.server.dispatch(self.now, || self.now).expect("the display can be read");
        self.server.flush(self.now).expect("the display can be written");
    }
}

/// What a client talks to.
pub(crate) trait Peer {
    /// Lets it handle and send whatever there is.
    fn dispatch(&mut self);
}

impl Peer for Host {
    fn dispatch(&mut self) {
        Host::dispatch(self);
    }
}

/// What an output of `size` at 60 Hz says of itself.
pub(crate) fn info(name: &str, size: Size) -> Info {
    Info {
        name: name.into(),
        make: "Transom".into(),
        model: "test".into(),
        physical_mm: Size::new(0, 0),
        mode: Mode { size, refresh_mhz: 60_000 },
        preferred_scale: Scale::ONE,
        scan_out: false,
        cursor_plane: false,
    }
}

/// What a wp_presentation_feedback was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Presented { ns: u64, refresh: u32, sequence: u64, flags: u32 },
    Discarded,
}

/// Every event that a test may ask about.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Globals by interface: name and version.
    pub(crate) globals: HashMap<String, (u32, u32)>,
    pub(crate) formats: Vec<u32>,
    /// Tags of the wl_callbacks that were done, in order, with the time sent.
    pub(crate) done: Vec<(u32, u32)>,
    pub(crate) released: Vec<ObjectId>,
    pub(crate) verdicts: Vec<(u32, Verdict)>,
    /// Surfaces that entered (+1) and left (-1) an output.
    pub(crate) presence: HashMap<ObjectId, i32>,
    pub(crate) preferred_scale: HashMap<ObjectId, i32>,
    /// wp_fractional_scale_v1's last word, by its own id.
    pub(crate) fractional: HashMap<ObjectId, u32>,
    /// Of the shell and the seat.
    pub(crate) desk: super::desk::Desk,
    /// Of dma-buf images.
    pub(crate) dmabuf: super::dmabuf_client::Told,
}

/// A connection and what came over it.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) queue: EventQueue<Events>,
    pub(crate) handle: QueueHandle<Events>,
    pub(crate) registry: wl_registry::WlRegistry,
    pub(crate) events: Events,
    next_tag: u32,
}

impl Client {
    /// At the other end of `stream`, nothing said yet.
    pub(crate) fn new(stream: UnixStream) -> Self {
        let connection = Connection::from_socket(stream).expect("a connected socket");
        let queue = connection.new_event_queue();
        let handle = queue.handle();
        let registry = connection.display().get_registry(&handle, ());
        Self { connection, queue, handle, registry, events: Events::default(), next_tag: 0 }
    }

    /// A tag that no callback had before.
    pub(crate) fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    /// Sends what the client said, lets the server handle it, and reads all that came back: a later sending into a
    /// connection that the server ended would lose the error that says why.
    pub(crate) fn exchange(&mut self, host: &mut impl Peer) {
        let _ = self.connection.flush(); // a connection that is gone is seen when reading
        host.dispatch();
        while let Some(guard) = self.connection.prepare_read() {
            let read = guard.read();
            let _ = self.queue.dispatch_pending(&mut self.events);
            if !matches!(read, Ok(read) if read > 0) {
                return; // nothing more for now, or the connection is over: `error` tells
            }
        }
        let _ = self.queue.dispatch_pending(&mut self.events);
    }

    /// Everything said so far is handled and everything that it caused has come back.
    pub(crate) fn roundtrip(&mut self, host: &mut impl Peer) {
        let tag = self.tag();
        let _callback = self.connection.display().sync(&self.handle, tag);
        for _ in 0..PATIENCE {
            self.exchange(host);
            if self.events.done.iter().any(|&(done, _)| done == tag) {
                self.events.done.retain(|&(done, _)| done != tag);
                return;
            }
            if let Some(error) = self.error() {
                panic!("the server ended the connection: {error}");
            }
        }
        panic!("the server does not answer");
    }

    /// As [`Client::roundtrip`] for a client that is about to be thrown out: the error's interface and code.
    pub(crate) fn expect_error(&mut self, host: &mut Host) -> (String, u32) {
        for _ in 0..PATIENCE {
            self.exchange(host);
            if let Some(error) = self.error() {
                return (error.object_interface, error.code);
            }
        }
        panic!("the server took it without an error");
    }

    /// As [`Client::expect_error`] for wl_display.no_memory, which libwayland tells as an error of the system's.
    pub(crate) fn expect_no_memory(&mut self, host: &mut Host) {
        let no_memory = |error: WaylandError| match error {
            WaylandError::Protocol(error) => (error.object_interface.as_str(), error.code) == ("wl_display", 2),
            WaylandError::Io(error) => error.raw_os_error() == Some(nix::libc::ENOMEM),
        };
        for _ in 0..PATIENCE {
            self.exchange(host);
            if let Some(error) = self.connection.backend().last_error() {
                return assert!(no_memory(error), "another error ended the connection");
            }
        }
        panic!("the server took it without an error");
    }

    /// The protocol error that ended the connection.
    pub(crate) fn error(&self) -> Option<ProtocolError> {
        self.connection.protocol_error()
    }

    /// Binds a global that the server must have.
    pub(crate) fn bind<I: Proxy + 'static>(&self) -> I
    where
        Events: Dispatch<I, ()>,
    {
        let interface = I::interface();
        let &(name, version) = self.events.globals.get(interface.name).expect("the server has this global");
        self.registry.bind(name, version.min(interface.version), &self.handle, ())
    }

    pub(crate) fn surface(&self) -> wl_surface::WlSurface {
        self.bind::<wl_compositor::WlCompositor>().create_surface(&self.handle, ())
    }

    /// Asks for a frame callback; [`Events::done`] has the tag once it came.
    pub(crate) fn frame(&mut self, surface: &wl_surface::WlSurface) -> u32 {
        let tag = self.tag();
        surface.frame(&self.handle, tag);
        tag
    }

    pub(crate) fn is_done(&self, tag: u32) -> bool {
        self.events.done.iter().any(|&(done, _)| done == tag)
    }

    /// Asks for presentation feedback; [`Events::verdicts`] has the tag once it came.
    pub(crate) fn feedback(&mut self, surface: &wl_surface::WlSurface) -> u32 {
        let tag = self.tag();
        self.bind::<wp_presentation::WpPresentation>().feedback(surface, &self.handle, tag);
        tag
    }

    pub(crate) fn verdict(&self, tag: u32) -> Option<&Verdict> {
        self.events.verdicts.iter().find(|(told, _)| *told == tag).map(|(_, verdict)| verdict)
    }

    /// A pool of `len` bytes on a file of its own.
    pub(crate) fn pool(&self, len: i32) -> Pool {
        Pool::new(self, memory(MFdFlags::empty(), i64::from(len)), len)
    }

    /// A buffer of one colour (little-endian ARGB) in a pool of its own.
    pub(crate) fn buffer(&self, w: i32, h: i32, argb: u32) -> wl_buffer::WlBuffer {
        let pool = self.pool(w * h * 4);
        pool.fill(0, (w * h) as usize, argb);
        pool.buffer(self, 0, w, h, w * 4, wl_shm::Format::Argb8888)
    }

    pub(crate) fn releases_of(&self, buffer: &wl_buffer::WlBuffer) -> usize {
        self.events.released.iter().filter(|id| **id == buffer.id()).count()
    }
}

/// A file in memory.
pub(crate) fn memory(flags: MFdFlags, len: i64) -> OwnedFd {
    let fd = memfd_create(c"client", flags).expect("a file in memory");
    ftruncate(&fd, len).expect("room in memory");
    fd
}

/// A wl_shm_pool and its file.
pub(crate) struct Pool {
    pub(crate) pool: wl_shm_pool::WlShmPool,
    pub(crate) file: OwnedFd,
}

impl Pool {
    pub(crate) fn new(client: &Client, file: OwnedFd, len: i32) -> Self {
        let pool = client.bind::<wl_shm::WlShm>().create_pool(file.as_fd(), len, &client.handle, ());
        Self { pool, file }
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes `count` texels of 4 bytes from byte `offset` on.
    pub(crate) fn fill(&self, offset: i64, count: usize, argb: u32) {
        let bytes = argb.to_le_bytes().repeat(count);
        nix::sys::uio::pwrite(&self.file, &bytes, offset).expect("the pool's file can be written");
    }

    pub(crate) fn buffer(
        &self,
        client: &Client,
        offset: i32,
        w: i32,
        h: i32,
        stride: i32,
        format: wl_shm::Format,
    ) -> wl_buffer::WlBuffer {
        self.pool.create_buffer(offset, w, h, stride, format, &client.handle, ())
    }
}

impl Dispatch<wl_registry::WlRegistry, ()> for Events {
    fn event(
        events: &mut Self,
        _registry: &wl_registry::WlRegistry,
        event: wl_registry::Event,
        _data: &(),
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        match event {
            wl_registry::Event::Global { name, interface, version } => {
                events.globals.insert(interface, (name, version));
            }
            wl_registry::Event::GlobalRemove { name } => events.globals.retain(|_, global| global.0 != name),
            _ => {}
        }
    }
}

impl Dispatch<wl_registry::WlRegistry, GlobalListContents> for Events {
    fn event(
        _events: &mut Self,
        _registry: &wl_registry::WlRegistry,
        _event: wl_registry::Event,
        _data: &GlobalListContents,
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
    }
}

impl Dispatch<wl_callback::WlCallback, u32> for Events {
    fn event(
        events: &mut Self,
        _callback: &wl_callback::WlCallback,
        event: wl_callback::Event,
        tag: &u32,
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        if let wl_callback::Event::Done { callback_data } = event {
            events.done.push((*tag, callback_data));
        }
    }
}

impl Dispatch<wl_shm::WlShm, ()> for Events {
    fn event(
        events: &mut Self,
        _shm: &wl_shm::WlShm,
        event: wl_shm::Event,
        _data: &(),
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        if let wl_shm::Event::Format { format } = event {
            events.formats.push(format.into());
        }
    }
}

impl Dispatch<wl_buffer::WlBuffer, ()> for Events {
    fn event(
        events: &mut Self,
        buffer: &wl_buffer::WlBuffer,
        event: wl_buffer::Event,
        _data: &(),
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        if let wl_buffer::Event::Release = event {
            events.released.push(buffer.id());
        }
    }
}

impl Dispatch<wl_surface::WlSurface, ()> for Events {
    fn event(
        events: &mut Self,
        surface: &wl_surface::WlSurface,
        event: wl_surface::Event,
        _data: &(),
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        match event {
            wl_surface::Event::Enter { .. } => *events.presence.entry(surface.id()).or_default() += 1,
            wl_surface::Event::Leave { .. } => *events.presence.entry(surface.id()).or_default() -= 1,
            wl_surface::Event::PreferredBufferScale { factor } => {
                events.preferred_scale.insert(surface.id(), factor);
            }
            _ => {}
        }
    }
}

impl Dispatch<wp_presentation_feedback::WpPresentationFeedback, u32> for Events {
    fn event(
        events: &mut Self,
        _feedback: &wp_presentation_feedback::WpPresentationFeedback,
        event: wp_presentation_feedback::Event,
        tag: &u32,
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        use wp_presentation_feedback::Event;
        let join = |hi: u32, lo: u32| u64::from(hi) << 32 | u64::from(lo);
        let verdict = match event {
            Event::Presented { tv_sec_hi, tv_sec_lo, tv_nsec, refresh, seq_hi, seq_lo, flags } => Verdict::Presented {
                ns: join(tv_sec_hi, tv_sec_lo) * 1_000_000_000 + u64::from(tv_nsec),
                refresh,
                sequence: join(seq_hi, seq_lo),
                flags: flags.into(),
            },
            Event::Discarded => Verdict::Discarded,
            _ => return,
        };
        events.verdicts.push((*tag, verdict));
    }
}

impl Dispatch<wp_fractional_scale_v1::WpFractionalScaleV1, ()> for Events {
    fn event(
        events: &mut Self,
        object: &wp_fractional_scale_v1::WpFractionalScaleV1,
        event: wp_fractional_scale_v1::Event,
        _data: &(),
        _connection: &Connection,
        _handle: &QueueHandle<Self>,
    ) {
        if let wp_fractional_scale_v1::Event::PreferredScale { scale } = event {
            events.fractional.insert(object.id(), scale);
        }
    }
}

delegate_noop!(Events: wl_compositor::WlCompositor);
delegate_noop!(Events: wl_subcompositor::WlSubcompositor);
delegate_noop!(Events: wl_subsurface::WlSubsurface);
delegate_noop!(Events: wl_region::WlRegion);
delegate_noop!(Events: wl_shm_pool::WlShmPool);
delegate_noop!(Events: ignore wl_output::WlOutput);
delegate_noop!(Events: wp_viewporter::WpViewporter);
delegate_noop!(Events: wp_viewport::WpViewport);
delegate_noop!(Events: ignore wp_presentation::WpPresentation);
delegate_noop!(Events: wp_fractional_scale_manager_v1::WpFractionalScaleManagerV1);
delegate_noop!(Events: wp_alpha_modifier_v1::WpAlphaModifierV1);
delegate_noop!(Events: wp_alpha_modifier_surface_v1::WpAlphaModifierSurfaceV1);
delegate_noop!(Events: wp_single_pixel_buffer_manager_v1::WpSinglePixelBufferManagerV1);
