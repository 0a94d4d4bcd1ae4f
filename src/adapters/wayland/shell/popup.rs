//! Popups: where they go, in what order, and their grab.
//!
//! A popup belongs to a parent that was there first (a window, a panel or another popup), so the list below is always
//! in order of depth and no walk up it can go round. A grab is a stack of one client's popups: its topmost has the
//! keyboard, the pointer is the client's alone, and a press anywhere else dismisses them all. A popup whose parent goes
//! or is no longer shown is dismissed with everything above it.
//!
//! smithay's own popup manager is not used: it follows parents that a client can tie into a circle, and recurses as
//! deep as a client likes.

use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_surface::{self, XdgSurface};
use smithay::reexports::wayland_protocols::xdg::shell::server::{xdg_popup, xdg_positioner, xdg_wm_base};
use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::utils::Serial;
use smithay::wayland::compositor::with_states;
use smithay::wayland::shell::xdg::{PopupSurface, PositionerState, XdgPopupSurfaceData};

use crate::adapters::wayland::state::State;
use crate::domain::geometry::{Point, Rect, Size};
use crate::domain::popup::{Adjustment, Positioner};
use crate::domain::window::Edges;

/// Popups on popups, at most; a deeper one is dismissed at once.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
struct Popup {
    handle: PopupSurface,
    xdg: XdgSurface,
    /// A window's, a panel's or a popup's surface; `None` until a panel takes it.
    parent: Option<WlSurface>,
    /// The window's or panel's surface at the end of its parents.
    root: Option<WlSurface>,
    depth: usize,
    positioner: Positioner,
    reactive: bool,
    /// In force: where its window geometry is, from the corner of its parent's.
    place: Rect,
    /// Its window geometry in its own surface.
    frame: Rect,
    mapped: bool,
    dismissed: bool,
}

/// A client's popups that have the user's attention to themselves.
#[derive(Debug)]
struct Grab {
    client: ClientId,
    /// Bottom to top.
    stack: Vec<WlSurface>,
}

/// Every popup.
#[derive(Debug, Default)]
pub struct Popups {
    /// In order of creation: parents before their children.
    list: Vec<Popup>,
    grab: Option<Grab>,
}

impl Popups {
    fn find(&self, surface: &WlSurface) -> Option<&Popup> {
        self.list.iter().find(|popup| popup.handle.wl_surface() == surface)
    }

    fn find_mut(&mut self, surface: &WlSurface) -> Option<&mut Popup> {
        self.list.iter_mut().find(|popup| popup.handle.wl_surface() == surface)
    }

    pub(super) fn contains(&self, surface: &WlSurface) -> bool {
        self.find(surface).is_some()
    }

    /// The window's or panel's surface that a popup belongs to in the end.
    pub(in crate::adapters::wayland) fn root_of(&self, surface: &WlSurface) -> Option<&WlSurface> {
        self.find(surface)?.root.as_ref()
    }

    /// The surface that a grab gives the keyboard to, and the client that has the pointer.
    pub(in crate::adapters::wayland) fn grabbed(&self) -> Option<(&WlSurface, &ClientId)> {
        self.grab.as_ref().and_then(|grab| Some((grab.stack.last()?, &grab.client)))
    }

    /// Calls `f` with each mapped popup of a root, frontmost first: its surface, and that surface's corner from the
    /// root's window geometry's.
    pub(super) fn each_of(&self, root: &WlSurface, mut f: impl FnMut(&WlSurface, Point)) {
        for popup in self.list.iter().rev().filter(|p| p.mapped && p.root.as_ref() == Some(root)) {
            let at = self.offset_of(popup);
            f(
                popup.handle.wl_surface(),
                Point::new(at.x.saturating_sub(popup.frame.x), at.y.saturating_sub(popup.frame.y)),
            );
        }
    }

    /// From the root's window geometry's corner to the popup's.
    fn offset_of(&self, popup: &Popup) -> Point {
        let mut at = popup.place.origin();
        let mut parent = popup.parent.as_ref();
        while let Some(above) = parent.and_then(|parent| self.find(parent)) {
            at = above.place.translated(at).origin();
            parent = above.parent.as_ref();
        }
        at
    }
}

impl State {
    pub(super) fn popup_created(&mut self, handle: PopupSurface, state: &PositionerState) {
        let Some(xdg) = self.shell.role_giver.clone() else { return };
        let positioner = positioner(state);
        if positioner.size.is_empty() || positioner.anchor_rect.is_empty() {
            handle.xdg_popup().post_error(xdg_wm_base::Error::InvalidPositioner, "the positioner is not complete");
            return;
        }
        if self.shell.popups.contains(handle.wl_surface()) {
            return xdg.post_error(xdg_surface::Error::AlreadyConstructed, "the surface has an xdg_popup already");
        }
        let parent = handle.get_parent_surface();
        let popups = &mut self.shell.popups;
        let (root, depth) = match &parent {
            None => (None, 0),
            Some(parent) => match popups.find(parent) {
                Some(above) => (above.root.clone(), above.depth + 1),
                None if self.shell.window_of.contains_key(&parent.id()) => (Some(parent.clone()), 0),
                None => {
                    handle.xdg_popup().post_error(xdg_wm_base::Error::InvalidPopupParent, "the parent has no role");
                    return;
                }
            },
        };
        let dismissed = depth > MAX_DEPTH || parent.as_ref().and_then(|p| popups.find(p)).is_some_and(|p| p.dismissed);
        if dismissed {
            handle.send_popup_done();
        }
        popups.list.push(Popup {
            handle,
            xdg,
            parent,
            root,
            depth,
            positioner,
            reactive: state.reactive,
            place: Rect::default(),
            frame: Rect::default(),
            mapped: false,
            dismissed,
        });
    }

    /// A panel takes a popup that was made without a parent.
    pub(super) fn popup_given(&mut self, handle: &PopupSurface, panel: &WlSurface) {
        if let Some(popup) = self.shell.popups.find_mut(handle.wl_surface())
            && popup.root.is_none()
        {
            popup.parent = Some(panel.clone());
            popup.root = Some(panel.clone());
        }
    }

    pub(super) fn popup_committed(&mut self, surface: &WlSurface) {
        let shows = self.core.surfaces.of(surface).is_some_and(|surface| surface.is_mapped());
        let frame = self.frame_of(surface);
        let Some(popup) = self.shell.popups.find_mut(surface) else { return };
        let handle = popup.handle.clone();
        if popup.dismissed {
            return;
        }
        if !shows {
            if std::mem::take(&mut popup.mapped) {
                handle.reset_initial_configure_sent();
                self.dismiss_popups(surface);
                self.leave_grab(surface);
                self.shell.dirty = true;
            } else if !handle.is_initial_configure_sent() {
                self.place_popup(surface);
                if handle.send_configure().is_err() {
                    tracing::debug!("a popup could not be configured");
                }
            }
            return;
        }
        let configured =
            with_states(surface, |states| Some(states.data_map.get::<XdgPopupSurfaceData>()?.lock().ok()?.configured));
        if configured != Some(true) {
            let message = "content before the first configure was acknowledged";
            return popup.xdg.post_error(xdg_surface::Error::UnconfiguredBuffer, message);
        }
        let place = with_states(surface, |states| {
            let role = states.data_map.get::<XdgPopupSurfaceData>()?.lock().ok()?;
            let geometry = role.current.geometry;
            Some(Rect::new(geometry.loc.x, geometry.loc.y, geometry.size.w, geometry.size.h))
        });
        let place = place.unwrap_or(popup.place);
        let changed = !popup.mapped || popup.place != place || popup.frame != frame;
        (popup.place, popup.frame, popup.mapped) = (place, frame, true);
        self.shell.dirty |= changed;
    }

    /// Chooses a popup's place and notes it as pending.
    fn place_popup(&self, surface: &WlSurface) {
        let popups = &self.shell.popups;
        let Some(popup) = popups.find(surface) else { return };
        let bounds = self.popup_bounds(popup);
        let place = bounds.map_or_else(|| popup.positioner.unconstrained(), |bounds| popup.positioner.place(bounds));
        popup.handle.with_pending_state(|state| {
            state.geometry.loc = (place.x, place.y).into();
            state.geometry.size = (place.w, place.h).into();
        });
    }

    /// What a popup must stay inside: its output, from the corner of its parent's window geometry.
    fn popup_bounds(&self, popup: &Popup) -> Option<Rect> {
        let root = self.frame_place(popup.root.as_ref()?)?;
        let parent = popup.parent.as_ref().and_then(|parent| self.shell.popups.find(parent));
        let offset = parent.map_or(Point::default(), |parent| self.shell.popups.offset_of(parent));
        let corner = Point::new(root.x.saturating_add(offset.x), root.y.saturating_add(offset.y));
        let anchor = popup.positioner.anchor_rect.translated(corner);
        let middle = Point::new(anchor.x.saturating_add(anchor.w / 2), anchor.y.saturating_add(anchor.h / 2));
        let screen = self.shell.desktop.screen_at(middle)?.rect;
        Some(screen.translated(Point::new(corner.x.saturating_neg(), corner.y.saturating_neg())))
    }

    /// Where a window's or panel's window geometry is, logical.
    fn frame_place(&self, root: &WlSurface) -> Option<Rect> {
        match self.shell.window_of(root) {
            Some(id) => self.shell.desktop.window(id).map(|window| window.geometry()),
            None => self.shell.panels.place(root),
        }
    }

    pub(super) fn popup_repositioned(&mut self, handle: &PopupSurface, state: &PositionerState, token: u32) {
        let positioner = positioner(state);
        if positioner.size.is_empty() || positioner.anchor_rect.is_empty() {
            handle.xdg_popup().post_error(xdg_wm_base::Error::InvalidPositioner, "the positioner is not complete");
            return;
        }
        let surface = handle.wl_surface();
        let Some(popup) = self.shell.popups.find_mut(surface) else { return };
        (popup.positioner, popup.reactive) = (positioner, state.reactive);
        handle.with_pending_state(|pending| pending.positioner = *state);
        self.place_popup(surface);
        handle.send_repositioned(token);
    }

    /// Moves the popups that asked to stay in sight, after their root moved or was resized.
    pub(super) fn reposition_reactive(&self) {
        for popup in self.shell.popups.list.iter().filter(|popup| popup.reactive && popup.mapped && !popup.dismissed) {
            let unanswered = with_states(popup.handle.wl_surface(), |states| {
                let role = states.data_map.get::<XdgPopupSurfaceData>()?.lock().ok()?;
                Some(role.pending_configures().len())
            });
            if unanswered.unwrap_or(0) >= super::toplevel::MAX_UNANSWERED {
                continue;
            }
            self.place_popup(popup.handle.wl_surface());
            if let Err(error) = popup.handle.send_pending_configure() {
                tracing::debug!(%error, "a reactive popup stays where it is");
            }
        }
    }

    /// A popup or its surface is gone.
    pub(super) fn forget_popup(&mut self, surface: &WlSurface) {
        let popups = &mut self.shell.popups;
        let Some(index) = popups.list.iter().position(|popup| popup.handle.wl_surface() == surface) else { return };
        popups.list.remove(index);
        self.shell.dirty = true;
        let child = self.shell.popups.list.iter().find(|p| p.parent.as_ref() == Some(surface) && !p.dismissed);
        if let Some(child) = child {
            let error = xdg_wm_base::Error::NotTheTopmostPopup;
            child.handle.xdg_popup().post_error(error, "a popup was destroyed before those on it");
        }
        self.dismiss_popups(surface);
        self.leave_grab(surface);
    }

    /// Dismisses every popup on a window, panel or popup, the topmost first.
    pub(super) fn dismiss_popups(&mut self, parent: &WlSurface) {
        let popups = &mut self.shell.popups;
        let mut above = vec![parent.clone()];
        let mut dismissed = Vec::new();
        // Parents come before their children, so that one pass finds every generation.
        for popup in &mut popups.list {
            let surface = popup.handle.wl_surface();
            if popup.parent.as_ref().is_some_and(|parent| above.contains(parent)) {
                above.push(surface.clone());
                if !std::mem::replace(&mut popup.dismissed, true) {
                    popup.mapped = false;
                    dismissed.push(popup.handle.clone());
                }
            }
        }
        for handle in dismissed.iter().rev() {
            handle.send_popup_done();
            self.leave_grab(handle.wl_surface());
        }
        self.shell.dirty |= !dismissed.is_empty();
    }

    /// Dismisses the popups of windows that are no longer shown.
    pub(super) fn dismiss_hidden_popups(&mut self) {
        let desktop = &self.shell.desktop;
        let shown = |root: &WlSurface| match self.shell.window_of(root) {
            Some(id) => desktop.window(id).is_some_and(|window| desktop.is_shown(window)),
            None => true,
        };
        let live = self.shell.popups.list.iter().filter(|popup| popup.mapped && !popup.dismissed);
        let hidden: Vec<_> = live.filter_map(|popup| popup.root.clone()).filter(|root| !shown(root)).collect();
        for root in hidden {
            self.dismiss_popups(&root);
        }
        self.reposition_reactive();
    }
}

// The grab.
impl State {
    pub(super) fn popup_grabbed(&mut self, handle: &PopupSurface, serial: Serial) {
        let surface = handle.wl_surface();
        let Some(client) = surface.client().map(|client| client.id()) else { return };
        let popups = &self.shell.popups;
        let Some(popup) = popups.find(surface) else { return };
        if popup.mapped || handle.is_initial_configure_sent() {
            handle.xdg_popup().post_error(xdg_popup::Error::InvalidGrab, "the popup is mapped already");
            return;
        }
        let current = popups.grab.as_ref().filter(|grab| grab.client == client);
        let fits = match (current.and_then(|grab| grab.stack.last()), &popup.parent) {
            (Some(top), Some(parent)) => top == parent,
            (None, Some(parent)) => !popups.contains(parent),
            (None, None) => true,
            (Some(_), None) => false,
        };
        if !fits && current.is_some() && popup.parent.as_ref().is_some_and(|parent| popups.contains(parent)) {
            let error = xdg_wm_base::Error::NotTheTopmostPopup;
            handle.xdg_popup().post_error(error, "the popup is not on the topmost one");
            return;
        }
        if !fits && current.is_none() || popup.dismissed || !self.seat.serials.was_given(serial, &client) {
            self.dismiss_popup(surface);
            return;
        }
        if !fits || current.is_none() {
            self.dismiss_grab(); // a grab takes the place of the one before
        }
        let grab = self.shell.popups.grab.get_or_insert(Grab { client, stack: Vec::new() });
        grab.stack.push(surface.clone());
        self.shell.dirty = true;
    }

    fn dismiss_popup(&mut self, surface: &WlSurface) {
        self.dismiss_popups(surface);
        if let Some(popup) = self.shell.popups.find_mut(surface)
            && !std::mem::replace(&mut popup.dismissed, true)
        {
            popup.mapped = false;
            popup.handle.send_popup_done();
            self.leave_grab(surface);
            self.shell.dirty = true;
        }
    }

    /// Ends the grab, dismissing its popups from the top.
    pub(in crate::adapters::wayland) fn dismiss_grab(&mut self) {
        while let Some(bottom) = self.shell.popups.grab.as_ref().and_then(|grab| grab.stack.first().cloned()) {
            self.dismiss_popup(&bottom);
            self.leave_grab(&bottom);
        }
    }

    fn leave_grab(&mut self, surface: &WlSurface) {
        if let Some(grab) = &mut self.shell.popups.grab {
            grab.stack.retain(|popup| popup != surface);
            if grab.stack.is_empty() {
                self.shell.popups.grab = None;
            }
            self.shell.dirty = true;
        }
    }
}

/// In the domain's words.
fn positioner(state: &PositionerState) -> Positioner {
    Positioner {
        size: Size::new(state.rect_size.w, state.rect_size.h),
        anchor_rect: Rect::new(
            state.anchor_rect.loc.x,
            state.anchor_rect.loc.y,
            state.anchor_rect.size.w,
            state.anchor_rect.size.h,
        ),
        anchor: edges(state.anchor_edges as u32),
        gravity: edges(state.gravity as u32),
        adjustment: Adjustment::from_bits_truncate(state.constraint_adjustment.bits()),
        offset: Point::new(state.offset.x, state.offset.y),
    }
}

/// From xdg_positioner.anchor or .gravity, which number sides and corners alike.
fn edges(value: u32) -> Edges {
    const _: () = assert!(xdg_positioner::Anchor::BottomRight as u32 == 8);
    const _: () = assert!(xdg_positioner::Gravity::BottomRight as u32 == 8);
    match value {
        1 => Edges::TOP,
        2 => Edges::BOTTOM,
        3 => Edges::LEFT,
        4 => Edges::RIGHT,
        5 => Edges::TOP | Edges::LEFT,
        6 => Edges::BOTTOM | Edges::LEFT,
        7 => Edges::TOP | Edges::RIGHT,
        8 => Edges::BOTTOM | Edges::RIGHT,
        _ => Edges::empty(),
    }
}
