//! What the client has on the screen: its surfaces, and what happens to them.
//!
//! A surface commits once when its window is configured, then on every frame callback; where every buffer is still
//! held by the compositor it waits for the first release. Next: `samples`.

use anyhow::Context;
use nix::time::ClockId;
use serde_json::{Value, json};
use wayland_client::globals::{BindError, GlobalList, GlobalListContents, registry_queue_init};
use wayland_client::protocol::{
    wl_buffer, wl_callback, wl_compositor, wl_output, wl_registry, wl_shm, wl_shm_pool, wl_subcompositor,
    wl_subsurface, wl_surface,
};
use wayland_client::{Connection, Dispatch, EventQueue, QueueHandle, WEnum, delegate_noop};
use wayland_protocols::wp::presentation_time::client::{wp_presentation, wp_presentation_feedback};
use wayland_protocols::xdg::shell::client::{xdg_surface, xdg_toplevel, xdg_wm_base};

use crate::buffer::{Pixels, SQUARE};
use crate::samples::Samples;
use crate::{Mode, Options, monotonic_ns, now_ns};

/// What a window shows when it is configured.
#[derive(Clone, Copy, Debug)]
enum Window {
    /// The surface of this index.
    Of(usize),
    /// The still window that all surfaces are subsurfaces of.
    Parent,
}

/// Which buffer of which surface; none for the parent's.
type BufferOf = Option<(usize, usize)>;

/// The time of a surface commit on the presentation clock.
struct CommittedNs(u64);

/// Whether what happens is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Warm,
    Measure,
    Done,
}

struct Buffer {
    proxy: wl_buffer::WlBuffer,
    pixels: Pixels,
    /// Held by the compositor since this surface commit.
    committed_ns: Option<u64>,
}

struct Surface {
    proxy: wl_surface::WlSurface,
    buffers: Vec<Buffer>,
    step: u32,
    last_callback_ns: Option<u64>,
    /// A frame callback found no free buffer.
    starved: bool,
}

/// The client's state.
pub(crate) struct Session {
    options: Options,
    phase: Phase,
    surfaces: Vec<Surface>,
    parent: Option<(wl_surface::WlSurface, Buffer)>,
    presentation: Option<wp_presentation::WpPresentation>,
    presentation_clock: ClockId,
    output_mode: (i32, i32, i32),
    fullscreen: bool,
    pub(crate) closed: bool,
    pub(crate) samples: Samples,
}

/// The globals that windows are made from.
struct Makers {
    compositor: wl_compositor::WlCompositor,
    shm: wl_shm::WlShm,
    shell: xdg_wm_base::XdgWmBase,
    queue: QueueHandle<Session>,
}

impl Makers {
    fn new(globals: &GlobalList, queue: QueueHandle<Session>) -> Result<Self, BindError> {
        Ok(Self {
            compositor: globals.bind(&queue, 4..=6, ())?,
            shm: globals.bind(&queue, 1..=1, ())?,
            shell: globals.bind(&queue, 1..=1, ())?,
            queue,
        })
    }

    fn buffer(&self, (width, height): (i32, i32), owner: BufferOf) -> anyhow::Result<Buffer> {
        let pixels = Pixels::new(width, height)?;
        let (fd, bytes) = pixels.storage();
        let pool = self.shm.create_pool(fd, i32::try_from(bytes)?, &self.queue, ());
        let format = wl_shm::Format::Xrgb8888;
        let proxy = pool.create_buffer(0, width, height, Pixels::stride(width), format, &self.queue, owner);
        pool.destroy();
        Ok(Buffer { proxy, pixels, committed_ns: None })
    }

    fn toplevel(&self, surface: &wl_surface::WlSurface, window: Window, fullscreen: bool) {
        let toplevel = self.shell.get_xdg_surface(surface, &self.queue, window).get_toplevel(&self.queue, ());
        toplevel.set_app_id("loadclient".into());
        toplevel.set_title("loadclient".into());
        if fullscreen {
            toplevel.set_fullscreen(None);
        }
        surface.commit();
    }
}

impl Session {
    /// Connects and makes the surfaces; their first content waits for the configure event.
    ///
    /// # Errors
    /// A global that is not there, or no memory.
    pub(crate) fn open(connection: &Connection, queue: &EventQueue<Self>, options: Options) -> anyhow::Result<Self> {
        let (globals, _) = registry_queue_init::<Self>(connection).context("no registry")?;
        let handle = queue.handle();
        let makers = Makers::new(&globals, handle.clone()).context("a global is missing")?;
        let _output: wl_output::WlOutput = globals.bind(&handle, 1..=3, ()).context("no wl_output")?;
        let mut session = Self {
            phase: Phase::Warm,
            surfaces: Vec::new(),
            parent: None,
            presentation: globals.bind(&handle, 1..=1, ()).ok(),
            presentation_clock: ClockId::CLOCK_MONOTONIC,
            output_mode: (0, 0, 0),
            fullscreen: false,
            closed: false,
            samples: Samples::default(),
            options,
        };
        if let Some(size) = session.options.within {
            let surface = makers.compositor.create_surface(&handle, ());
            makers.toplevel(&surface, Window::Parent, session.options.fullscreen);
            session.parent = Some((surface, makers.buffer(size, None)?));
        }
        for index in 0..usize::from(session.options.surfaces) {
            session.add_surface(&globals, &makers, index)?;
            // One surface's descriptors at a time: compositors bound how many may be in flight. Events wait in the queue
            // until all surfaces are there.
            connection.roundtrip()?;
        }
        Ok(session)
    }

    fn add_surface(&mut self, globals: &GlobalList, makers: &Makers, index: usize) -> anyhow::Result<()> {
        let proxy = makers.compositor.create_surface(&makers.queue, ());
        let size = self.options.size;
        let buffers = (0..usize::from(self.options.buffers)).map(|buffer| makers.buffer(size, Some((index, buffer))));
        let buffers = buffers.collect::<anyhow::Result<_>>()?;
        if let Some((parent, whole)) = self.parent.as_ref().zip(self.options.within).map(|((p, _), w)| (p, w)) {
            let subcompositor: wl_subcompositor::WlSubcompositor = globals.bind(&makers.queue, 1..=1, ())?;
            let subsurface = subcompositor.get_subsurface(&proxy, parent, &makers.queue, ());
            let (x, y) = cell(index, usize::from(self.options.surfaces), whole, size);
            subsurface.set_position(x, y);
            subsurface.set_desync();
        } else {
            makers.toplevel(&proxy, Window::Of(index), self.options.fullscreen);
        }
        self.surfaces.push(Surface { proxy, buffers, step: 0, last_callback_ns: None, starved: false });
        Ok(())
    }

    /// Whether each surface had its first frame callback.
    pub(crate) fn all_shown(&self) -> bool {
        self.surfaces.iter().all(|surface| surface.last_callback_ns.is_some())
    }

    /// Begins or ends the measured time.
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        for surface in &mut self.surfaces {
            surface.last_callback_ns = None;
        }
    }

    /// What the measured time came to.
    pub(crate) fn result(&mut self) -> Value {
        let mut result = self.samples.summary();
        let (width, height, rate_mhz) = self.output_mode;
        result["mode"] = json!(self.options.mode);
        result["surfaces"] = json!(self.options.surfaces);
        result["size"] = json!(self.options.size);
        result["output_mode"] = json!([width, height, rate_mhz]);
        result["fullscreen"] = json!(self.fullscreen);
        result
    }

    /// Paints and commits the next frame of a surface, or notes that every buffer is held.
    fn draw(&mut self, index: usize, queue: &QueueHandle<Self>) {
        if self.phase == Phase::Done {
            return;
        }
        let measured = self.phase == Phase::Measure;
        let (mode, (width, height)) = (self.options.mode, self.options.size);
        let surface = &mut self.surfaces[index];
        let first = surface.step == 0;
        if mode != Mode::Still || first {
            let Some(buffer) = surface.buffers.iter_mut().find(|buffer| buffer.committed_ns.is_none()) else {
                surface.starved = true;
                self.samples.starved += u64::from(measured);
                return;
            };
            surface.proxy.attach(Some(&buffer.proxy), 0, 0);
            if mode == Mode::Small && !first {
                let (x, y) = buffer.pixels.fill_square(surface.step);
                surface.proxy.damage_buffer(x, y, SQUARE, SQUARE);
            } else {
                buffer.pixels.fill(surface.step);
                surface.proxy.damage_buffer(0, 0, width, height);
            }
            buffer.committed_ns = Some(monotonic_ns());
            self.samples.commits += u64::from(measured);
            if let Some(presentation) = &self.presentation {
                presentation.feedback(&surface.proxy, queue, CommittedNs(now_ns(self.presentation_clock)));
            }
        }
        surface.starved = false;
        surface.step += 1;
        surface.proxy.frame(queue, index);
        surface.proxy.commit();
    }

    /// Gives every surface of a newly configured window its first content.
    fn configured(&mut self, window: Window, queue: &QueueHandle<Self>) {
        let indices = match (window, &self.parent) {
            (Window::Of(index), _) => index..index + 1,
            (Window::Parent, Some((surface, buffer))) => {
                surface.attach(Some(&buffer.proxy), 0, 0);
                surface.damage_buffer(0, 0, i32::MAX, i32::MAX);
                surface.commit();
                0..self.surfaces.len()
            }
            (Window::Parent, None) => 0..0,
        };
        for index in indices {
            if self.surfaces.get(index).is_some_and(|surface| surface.step == 0) {
                self.draw(index, queue);
            }
        }
    }
}

/// Where the subsurface of that index lies, so that `count` of size `each` fill `whole` evenly.
fn cell(index: usize, count: usize, whole: (i32, i32), each: (i32, i32)) -> (i32, i32) {
    let shape = f64::from(whole.0) / f64::from(whole.1) * f64::from(each.1) / f64::from(each.0);
    let columns = (count as f64 * shape).sqrt().round().max(1.0) as usize;
    let place = |at: usize, cells: usize, whole: i32, each: i32| {
        let room = usize::try_from(whole - each).unwrap_or(0);
        i32::try_from((at * room).checked_div(cells.saturating_sub(1)).unwrap_or(0)).unwrap_or(0)
    };
    let rows = count.div_ceil(columns);
    (place(index % columns, columns, whole.0, each.0), place(index / columns, rows, whole.1, each.1))
}

delegate_noop!(Session: ignore wl_compositor::WlCompositor);
delegate_noop!(Session: ignore wl_subcompositor::WlSubcompositor);
delegate_noop!(Session: ignore wl_subsurface::WlSubsurface);
delegate_noop!(Session: ignore wl_shm::WlShm);
delegate_noop!(Session: ignore wl_shm_pool::WlShmPool);
delegate_noop!(Session: ignore wl_surface::WlSurface);

/// One event's handler; unlike the trait's, it names only what is used.
macro_rules! on {
    ($proxy:ty, $data:ty, |$session:ident, $it:ident, $event:ident, $user:ident, $queue:ident| $body:expr) => {
        impl Dispatch<$proxy, $data> for Session {
            fn event(
                $session: &mut Self,
                $it: &$proxy,
                $event: <$proxy as wayland_client::Proxy>::Event,
                $user: &$data,
                _: &Connection,
                $queue: &QueueHandle<Self>,
            ) {
                $body
            }
        }
    };
}

on!(wl_registry::WlRegistry, GlobalListContents, |_session, _it, _event, _data, _queue| ());

on!(wl_output::WlOutput, (), |session, _it, event, _data, _queue| {
    if let wl_output::Event::Mode { flags: WEnum::Value(flags), width, height, refresh } = event
        && flags.contains(wl_output::Mode::Current)
    {
        session.output_mode = (width, height, refresh);
    }
});

on!(xdg_wm_base::XdgWmBase, (), |_session, shell, event, _data, _queue| {
    if let xdg_wm_base::Event::Ping { serial } = event {
        shell.pong(serial);
    }
});

on!(xdg_surface::XdgSurface, Window, |session, surface, event, window, queue| {
    if let xdg_surface::Event::Configure { serial } = event {
        surface.ack_configure(serial);
        session.configured(*window, queue);
    }
});

on!(xdg_toplevel::XdgToplevel, (), |session, _it, event, _data, _queue| match event {
    xdg_toplevel::Event::Configure { states, .. } => {
        let fullscreen = u32::from(xdg_toplevel::State::Fullscreen).to_ne_bytes();
        session.fullscreen = states.chunks_exact(4).any(|state| state == fullscreen);
    }
    xdg_toplevel::Event::Close => session.closed = true,
    _ => {}
});

on!(wl_callback::WlCallback, usize, |session, _it, event, index, queue| {
    if let wl_callback::Event::Done { callback_data } = event {
        let now_ns = monotonic_ns();
        session.samples.first_frame_ns.get_or_insert(now_ns);
        let last_ns = session.surfaces[*index].last_callback_ns.replace(now_ns);
        if session.phase == Phase::Measure {
            session.samples.callbacks_ms.insert(callback_data);
            session.samples.intervals_ns.extend(last_ns.map(|last_ns| now_ns - last_ns));
        }
        session.draw(*index, queue);
    }
});

on!(wl_buffer::WlBuffer, BufferOf, |session, _it, event, owner, queue| {
    let (wl_buffer::Event::Release, Some((surface, buffer))) = (event, *owner) else { return };
    let committed_ns = session.surfaces[surface].buffers[buffer].committed_ns.take();
    if session.phase == Phase::Measure {
        session.samples.releases_ns.extend(committed_ns.map(|then_ns| monotonic_ns() - then_ns));
    }
    if session.surfaces[surface].starved {
        session.draw(surface, queue);
    }
});

on!(wp_presentation::WpPresentation, (), |session, _it, event, _data, _queue| {
    if let wp_presentation::Event::ClockId { clk_id } = event {
        session.presentation_clock = ClockId::from_raw(clk_id.cast_signed());
    }
});

on!(wp_presentation_feedback::WpPresentationFeedback, CommittedNs, |session, _it, event, committed, _queue| {
    if session.phase != Phase::Measure {
        return;
    }
    match event {
        wp_presentation_feedback::Event::Presented { tv_sec_hi, tv_sec_lo, tv_nsec, .. } => {
            let seconds = u64::from(tv_sec_hi) << 32 | u64::from(tv_sec_lo);
            let at_ns = seconds * 1_000_000_000 + u64::from(tv_nsec);
            session.samples.presented_ns.insert(at_ns);
            session.samples.latencies_ns.push(at_ns.saturating_sub(committed.0));
        }
        wp_presentation_feedback::Event::Discarded => session.samples.discarded += 1,
        _ => {}
    }
});
