//! A window to its client: what it is told, what it commits, and what it answers.
//!
//! Invariants: a client is told only what changed, and never owes more than [`MAX_UNANSWERED`] answers (what comes
//! after waits, so that one that stops answering costs no memory); while a window is resized by hand it owes one at
//! most, so that it draws the newest size next and not every one in between.

use smithay::reexports::wayland_protocols::xdg::decoration::zv1::server::zxdg_toplevel_decoration_v1::Mode as Decoration;
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_surface::{self, XdgSurface};
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_toplevel;
use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::utils::{SERIAL_COUNTER, Serial};
use smithay::wayland::compositor::with_states;
use smithay::wayland::shell::xdg::{
    SurfaceCachedState, ToplevelSurface, XdgToplevelSurfaceData, XdgToplevelSurfaceRoleAttributes,
};

use crate::adapters::wayland::client::ClientState;
use crate::adapters::wayland::state::State;
use crate::domain::config::Decorations;
use crate::domain::frame::Time;
use crate::domain::geometry::{Rect, Size};
use crate::domain::window::{Limits, Mode, WindowId};

/// Configures that a client may leave unanswered before it gets no more.
pub const MAX_UNANSWERED: usize = 16;

/// After this long without an answer to a ping, a client counts as hung.
const PING_PATIENCE_NS: u64 = 5_000_000_000;

/// See the module's docs.
#[derive(Debug)]
pub struct Toplevel {
    pub(super) handle: ToplevelSurface,
    xdg: XdgSurface,
    /// Its window geometry in its surface, logical: shadows lie outside.
    pub(super) frame: Rect,
    /// The last configure sent.
    last_sent: Option<Serial>,
    /// It asked for something and is owed a configure, changed or not.
    owed: bool,
    /// What it is to be told waits for its answers.
    waiting: bool,
    /// What its client asked for about title bars.
    pub(super) decoration: Option<Decoration>,
    /// A ping without an answer yet.
    pinged: Option<Time>,
}

/// What the control socket tells of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowInfo {
    /// Its number.
    pub id: WindowId,
    /// What its client calls itself.
    pub app_id: String,
    /// Its title.
    pub title: String,
    /// Its client's process, where known.
    pub pid: Option<i32>,
    /// The name of its output; empty while there is none.
    pub output: String,
    /// Its workspace, 1 is the first.
    pub workspace: u32,
    /// Where it is, logical.
    pub geometry: Rect,
    /// It has the keyboard.
    pub focused: bool,
    /// How it takes its place.
    pub mode: Mode,
    /// It is put away.
    pub minimised: bool,
    /// Its client answers pings.
    pub responding: bool,
}

fn with_role<T>(surface: &WlSurface, f: impl FnOnce(&mut XdgToplevelSurfaceRoleAttributes) -> T) -> Option<T> {
    with_states(surface, |states| {
        let role = states.data_map.get::<XdgToplevelSurfaceData>()?;
        role.lock().ok().map(|mut role| f(&mut role))
    })
}

impl Toplevel {
    fn unanswered(&self) -> usize {
        with_role(self.handle.wl_surface(), |role| role.pending_configures().len()).unwrap_or(0)
    }

    fn initial_sent(&self) -> bool {
        with_role(self.handle.wl_surface(), |role| role.initial_configure_sent).unwrap_or(false)
    }

    /// Whether the content last committed answers all that was asked.
    fn answered(&self) -> bool {
        let serial = with_role(self.handle.wl_surface(), |role| role.current_serial).flatten();
        let all_sent = !self.handle.has_pending_changes();
        all_sent && self.last_sent.is_none_or(|sent| serial.is_some_and(|serial| serial >= sent))
    }
}

impl State {
    pub(super) fn toplevel_created(&mut self, handle: ToplevelSurface) {
        let shell = &mut self.shell;
        let Some(xdg) = shell.role_giver.clone() else { return };
        if shell.window_of.contains_key(&handle.wl_surface().id()) {
            let message = "the surface has an xdg_toplevel already";
            return xdg.post_error(xdg_surface::Error::AlreadyConstructed, message);
        }
        shell.last_window += 1;
        let id = WindowId(shell.last_window);
        shell.window_of.insert(handle.wl_surface().id(), id);
        let toplevel = Toplevel {
            handle,
            xdg,
            frame: Rect::default(),
            last_sent: None,
            owed: false,
            waiting: false,
            decoration: None,
            pinged: None,
        };
        shell.toplevels.insert(id, toplevel);
        shell.desktop.create(id);
    }

    /// A toplevel or its surface is gone, whichever goes first.
    pub(super) fn forget_window(&mut self, surface: &WlSurface) {
        let Some(id) = self.shell.window_of.remove(&surface.id()) else { return };
        self.shell.toplevels.remove(&id);
        let children: Vec<_> = self.shell.desktop.children(id).collect();
        self.shell.desktop.destroy(id);
        children.into_iter().for_each(|child| self.tell_parent(child));
        self.dismiss_popups(surface);
        self.cancel_drag_of(id);
    }

    /// After a surface commit of a window's own surface.
    pub(super) fn toplevel_committed(&mut self, id: WindowId) {
        let Some(toplevel) = self.shell.toplevels.get(&id) else { return };
        let handle = toplevel.handle.clone();
        let surface = handle.wl_surface();
        let Some(limits) = committed_limits(&handle) else { return };
        self.shell.desktop.set_limits(id, limits);
        let shows = self.core.surfaces.of(surface).is_some_and(|surface| surface.is_mapped());
        let was_mapped = self.shell.desktop.window(id).is_some_and(|window| window.is_mapped());
        if !shows {
            if was_mapped {
                self.unmap_toplevel(id);
            } else if !toplevel.initial_sent() {
                self.configure_toplevel(id, true);
            }
            return;
        }
        let configured = with_role(surface, |role| role.configured).unwrap_or(false);
        if !configured {
            let message = "content before the first configure was acknowledged";
            return toplevel.xdg.post_error(xdg_surface::Error::UnconfiguredBuffer, message);
        }
        let frame = self.frame_of(surface);
        let moved = self.shell.toplevels.get_mut(&id).is_some_and(|toplevel| {
            let moved = toplevel.frame.origin() != frame.origin();
            toplevel.frame = frame;
            moved
        });
        let answered = self.shell.toplevels.get(&id).is_some_and(Toplevel::answered);
        self.shell.desktop.committed(id, frame.size(), answered);
        self.shell.dirty |= moved;
    }

    fn unmap_toplevel(&mut self, id: WindowId) {
        let Some(toplevel) = self.shell.toplevels.get_mut(&id) else { return };
        let surface = toplevel.handle.wl_surface().clone();
        toplevel.last_sent = None;
        (toplevel.owed, toplevel.waiting) = (false, false);
        with_role(&surface, |role| {
            // Back to the state after get_toplevel; only who it is remains.
            let old = std::mem::take(role);
            (role.parent, role.title, role.app_id) = (old.parent, old.title, old.app_id);
            role.current.capabilities = old.current.capabilities;
        });
        let children: Vec<_> = self.shell.desktop.children(id).collect();
        self.shell.desktop.unmap(id);
        children.into_iter().for_each(|child| self.tell_parent(child));
        self.dismiss_popups(&surface);
        self.cancel_drag_of(id);
    }

    /// Lets smithay, which looks for loops among parents, know the parent in force.
    pub(super) fn tell_parent(&mut self, id: WindowId) {
        let parent = self.shell.desktop.window(id).and_then(|window| window.parent());
        let parent = parent.and_then(|parent| self.shell.surface_of(parent)).cloned();
        if let Some(surface) = self.shell.surface_of(id) {
            with_role(surface, |role| role.parent = parent);
        }
    }

    /// The window geometry in effect of a toplevel's or popup's surface, in that surface: what the client set, inside
    /// what there is, else all there is.
    pub(super) fn frame_of(&self, surface: &WlSurface) -> Rect {
        let surfaces = &self.core.surfaces;
        let bounds = surfaces.key(surface).map_or(Rect::default(), |key| surfaces.bounds(key));
        let set = with_states(surface, |states| states.cached_state.get::<SurfaceCachedState>().current().geometry);
        let set = set.map(|r| Rect::new(r.loc.x, r.loc.y, r.size.w, r.size.h));
        set.and_then(|set| set.intersection(bounds)).unwrap_or(bounds)
    }

    /// Tells every client what changed about its windows.
    pub(super) fn configure_toplevels(&mut self) {
        let ids: Vec<_> = self.shell.toplevels.keys().copied().collect();
        for id in ids {
            self.configure_toplevel(id, false);
        }
    }

    /// Tells a client what changed about its window. `initial` begins the dialogue, which else is not begun.
    fn configure_toplevel(&mut self, id: WindowId, initial: bool) {
        let desktop = &self.shell.desktop;
        let Some(window) = desktop.window(id) else { return };
        let Some(toplevel) = self.shell.toplevels.get_mut(&id) else { return };
        if !toplevel.handle.alive() {
            return;
        }
        let asked = window.asked_size();
        let bounds = window.output().and_then(|id| desktop.screen(id)).map(|screen| screen.usable.size());
        let (mode, resizing) = (window.mode(), window.is_resizing());
        let activated = desktop.focused() == Some(id);
        let suspended = window.is_mapped() && !desktop.is_shown(window);
        let decoration = match (self.shell.decorations, toplevel.decoration) {
            (Decorations::None, _) | (_, Some(Decoration::ServerSide)) => Decoration::ServerSide,
            _ => Decoration::ClientSide,
        };
        toplevel.handle.with_pending_state(|state| {
            state.size = Some((asked.w, asked.h).into());
            state.bounds = bounds.map(|size| (size.w, size.h).into());
            state.decoration_mode = Some(decoration);
            for (flag, on) in [
                (xdg_toplevel::State::Maximized, mode == Mode::Maximised),
                (xdg_toplevel::State::Fullscreen, mode == Mode::Fullscreen),
                (xdg_toplevel::State::Resizing, resizing),
                (xdg_toplevel::State::Activated, activated),
                (xdg_toplevel::State::Suspended, suspended),
            ] {
                if on {
                    state.states.set(flag)
                } else {
                    state.states.unset(flag)
                };
            }
        });
        if !toplevel.initial_sent() && !initial {
            return;
        }
        let limit = if resizing { 1 } else { MAX_UNANSWERED };
        let news = toplevel.owed || toplevel.handle.has_pending_changes();
        toplevel.waiting = news && toplevel.unanswered() >= limit;
        if news && !toplevel.waiting {
            toplevel.owed = false;
            toplevel.last_sent = Some(toplevel.handle.send_configure());
        }
    }

    /// Answers a request with a configure whether or not it changed anything, as xdg_toplevel wants it.
    pub(super) fn answer_toplevel(&mut self, id: WindowId) {
        if let Some(toplevel) = self.shell.toplevels.get_mut(&id) {
            toplevel.owed = toplevel.initial_sent();
            self.configure_toplevel(id, false);
        }
    }

    /// A client acknowledged a configure: there may be room for the next.
    pub(super) fn toplevel_acked(&mut self, surface: &WlSurface) {
        if let Some(id) = self.shell.window_of(surface)
            && self.shell.toplevels.get(&id).is_some_and(|toplevel| toplevel.waiting)
        {
            self.configure_toplevel(id, false);
        }
    }

    /// Asks a window's client to close it.
    pub fn close_window(&mut self, id: WindowId) {
        if let Some(toplevel) = self.shell.toplevels.get(&id) {
            toplevel.handle.send_close();
            self.ping_window(id);
        }
    }

    /// Asks whether a window's client is still there, unless that question is open.
    pub(in crate::adapters::wayland) fn ping_window(&mut self, id: WindowId) {
        let now = self.core.now;
        if let Some(toplevel) = self.shell.toplevels.get_mut(&id)
            && toplevel.handle.client().send_ping(SERIAL_COUNTER.next_serial()).is_ok()
        {
            toplevel.pinged = Some(now);
        }
    }

    /// A client answered a ping: it and all its windows are there.
    pub(super) fn ponged(&mut self, client: &smithay::wayland::shell::xdg::ShellClient) {
        for toplevel in self.shell.toplevels.values_mut().filter(|t| t.handle.client() == *client) {
            toplevel.pinged = None;
        }
    }

    /// Every mapped window, back to front, for people and scripts.
    pub fn windows(&self) -> impl Iterator<Item = WindowInfo> {
        let desktop = &self.shell.desktop;
        desktop.windows().filter(|window| window.is_mapped()).filter_map(|window| {
            let toplevel = self.shell.toplevels.get(&window.id())?;
            let surface = toplevel.handle.wl_surface();
            let (title, app_id) = with_role(surface, |role| (role.title.clone(), role.app_id.clone()))?;
            let credentials = surface.client().and_then(|client| client.get_data::<ClientState>()?.credentials);
            let screen = window.output().and_then(|id| desktop.screen(id));
            Some(WindowInfo {
                id: window.id(),
                app_id: app_id.unwrap_or_default(),
                title: title.unwrap_or_default(),
                pid: credentials.map(|credentials| credentials.pid),
                output: screen.map(|screen| screen.name.clone()).unwrap_or_default(),
                workspace: window.workspace(),
                geometry: window.geometry(),
                focused: desktop.focused() == Some(window.id()),
                mode: window.mode(),
                minimised: window.is_minimised(),
                responding: toplevel.pinged.is_none_or(|at| self.core.now.since_ns(at) < PING_PATIENCE_NS),
            })
        })
    }
}

/// The limits that a client committed; `None` where they are none, which its client has been told.
fn committed_limits(handle: &ToplevelSurface) -> Option<Limits> {
    let cached = with_states(handle.wl_surface(), |states| *states.cached_state.get::<SurfaceCachedState>().current());
    let (min, max) = (cached.min_size, cached.max_size);
    if (max.w > 0 && min.w > max.w) || (max.h > 0 && min.h > max.h) {
        let message = "the smallest size is greater than the greatest";
        handle.xdg_toplevel().post_error(xdg_toplevel::Error::InvalidSize, message);
        return None;
    }
    Some(Limits { min: Size::new(min.w, min.h), max: Size::new(max.w, max.h) })
}
