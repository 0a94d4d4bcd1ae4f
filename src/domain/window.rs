//! One window of the desktop: where it is, where it was, and what becomes of the sizes its client commits.
//!
//! Geometry is *logical* (desktop coordinates) and is the client's window geometry, shadows left out. The desktop
//! decides positions, the client its size: what the desktop asks for is a [`Place`] that comes into force only when
//! the client has answered it ([`Window::committed`]), so that a window never jumps before its new content is there.
//! The resized edge moves, the opposite one stays, whatever size the client settles for.
//!
//! Next: [`super::desktop`], which owns the windows.

use super::geometry::{Point, Rect, Size};
use super::output::OutputId;

/// A window from its creation to its end. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WindowId(pub u64);

bitflags::bitflags! {
    /// Edges of a rectangle, as xdg_toplevel.resize_edge and zwlr_layer_surface_v1.anchor number them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Edges: u32 {
        /// The upper one.
        const TOP = 1;
        /// The lower one.
        const BOTTOM = 2;
        /// The left one.
        const LEFT = 4;
        /// The right one.
        const RIGHT = 8;
    }
}

impl Edges {
    /// The edges nearest to `at` inside `rect`: a corner in the outer thirds, one edge in the middle ones, and the
    /// bottom right corner in the very middle.
    pub fn nearest(rect: Rect, at: Point) -> Self {
        let third = |low: i32, extent: i32, v: i32, first: Self, last: Self| {
            let third = (extent / 3).max(1);
            let inside = v.saturating_sub(low);
            if inside < third {
                first
            } else if inside >= extent.saturating_sub(third) {
                last
            } else {
                Self::empty()
            }
        };
        let x = third(rect.x, rect.w, at.x, Self::LEFT, Self::RIGHT);
        let y = third(rect.y, rect.h, at.y, Self::TOP, Self::BOTTOM);
        let edges = x | y;
        if edges.is_empty() { Self::RIGHT | Self::BOTTOM } else { edges }
    }

    /// The xdg_toplevel.resize_edge value, `None` where it names no edge or opposite ones.
    pub fn from_resize_edge(value: u32) -> Option<Self> {
        let edges = Self::from_bits(value)?;
        let opposite = edges.contains(Self::TOP | Self::BOTTOM) || edges.contains(Self::LEFT | Self::RIGHT);
        (!edges.is_empty() && !opposite).then_some(edges)
    }
}

/// How a window takes its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Its own size, anywhere.
    #[default]
    Floating,
    /// The usable area of its output.
    Maximised,
    /// The whole output, above panels.
    Fullscreen,
}

/// A place that the desktop gives to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Top left corner; `None` until it is chosen, once the client's size is known.
    Floating(Option<Point>),
    /// The area to fill.
    Maximised(Rect),
    /// The output to fill.
    Fullscreen(Rect),
}

impl Place {
    /// Its kind.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Floating(_) => Mode::Floating,
            Self::Maximised(_) => Mode::Maximised,
            Self::Fullscreen(_) => Mode::Fullscreen,
        }
    }
}

/// The sizes that a client says it can take; zero is no limit. Source: xdg_toplevel.set_min_size, set_max_size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Smallest.
    pub min: Size,
    /// Greatest.
    pub max: Size,
}

impl Limits {
    /// The nearest size within them, at least 1×1; the minimum wins where they contradict each other.
    pub fn clamp(self, size: Size) -> Size {
        let axis = |v: i32, min: i32, max: i32| {
            let capped = if max > 0 { v.min(max) } else { v };
            capped.max(min).max(1)
        };
        Size::new(axis(size.w, self.min.w, self.max.w), axis(size.h, self.min.h, self.max.h))
    }

    /// Whether only one size is allowed.
    pub const fn is_fixed(self) -> bool {
        self.min.w > 0 && self.min.h > 0 && self.min.w == self.max.w && self.min.h == self.max.h
    }
}

/// An interactive resize under way, or ended and not yet answered by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resize {
    edges: Edges,
    start: Rect,
    active: bool,
}

/// See the module's docs.
#[derive(Clone, Debug)]
pub struct Window {
    id: WindowId,
    placement: Place,
    next: Option<Place>,
    size: Size,
    asked: Size,
    restore: Option<Rect>,
    resize: Option<Resize>,
    /// What its client can take.
    pub limits: Limits,
    pub(super) parent: Option<WindowId>,
    pub(super) minimised: bool,
    pub(super) mapped: bool,
    /// The output it belongs to; `None` while there is none at all.
    pub(super) output: Option<OutputId>,
    /// The workspace of that output, 1 is the first.
    pub(super) workspace: u32,
    /// Maximised before it became fullscreen.
    pub(super) maximised_beneath: bool,
    /// Where it was when its output went away.
    pub(super) home: Option<Home>,
}

/// Where a window was when its output went away, for when that comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) output_name: String,
    pub(super) workspace: u32,
    /// From the output's top left corner to the window's.
    pub(super) offset: Point,
}

impl Window {
    /// A window that is not mapped yet and will choose its own size.
    pub const fn new(id: WindowId) -> Self {
        Self {
            id,
            placement: Place::Floating(None),
            next: None,
            size: Size::new(0, 0),
            asked: Size::new(0, 0),
            restore: None,
            resize: None,
            limits: Limits { min: Size::new(0, 0), max: Size::new(0, 0) },
            parent: None,
            minimised: false,
            mapped: false,
            output: None,
            workspace: 1,
            maximised_beneath: false,
            home: None,
        }
    }

    /// Its name.
    pub const fn id(&self) -> WindowId {
        self.id
    }

    /// The output it belongs to; `None` while there is none at all.
    pub const fn output(&self) -> Option<OutputId> {
        self.output
    }

    /// The workspace of its output that it is on, 1 is the first.
    pub const fn workspace(&self) -> u32 {
        self.workspace
    }

    /// The window it belongs to, as a dialogue does.
    pub const fn parent(&self) -> Option<WindowId> {
        self.parent
    }

    /// Whether it is put away.
    pub const fn is_minimised(&self) -> bool {
        self.minimised
    }

    /// Whether its client shows content.
    pub const fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// The mode its client was told last, answered or not.
    pub fn mode(&self) -> Mode {
        self.next.unwrap_or(self.placement).mode()
    }

    /// The mode it is shown in.
    pub const fn shown_mode(&self) -> Mode {
        self.placement.mode()
    }

    /// Where it is shown, logical. Floating windows without a place yet are at the origin.
    pub fn geometry(&self) -> Rect {
        match self.placement {
            Place::Floating(at) => Rect::at(at.unwrap_or_default(), self.size),
            Place::Maximised(area) => Rect::at(area.origin(), self.size),
            Place::Fullscreen(area) => centred(area, self.size),
        }
    }

    /// The area it covers, logical: all of the output when it is fullscreen, whatever the client's size.
    pub fn covered(&self) -> Rect {
        match self.placement {
            Place::Fullscreen(area) => area,
            _ => self.geometry(),
        }
    }

    /// The size to ask its client for; zero on an axis leaves it to the client.
    pub fn asked_size(&self) -> Size {
        match self.next.unwrap_or(self.placement) {
            Place::Floating(_) => self.asked,
            Place::Maximised(area) | Place::Fullscreen(area) => area.size(),
        }
    }

    /// Whether the user is resizing it.
    pub fn is_resizing(&self) -> bool {
        self.resize.is_some_and(|r| r.active)
    }

    /// Whether it awaits its place: floating, with none chosen.
    pub const fn needs_place(&self) -> bool {
        matches!(self.placement, Place::Floating(None))
    }

    /// Whether something asked of the client is unanswered.
    pub const fn is_unsettled(&self) -> bool {
        self.next.is_some()
    }

    /// Asks for a place. It comes into force with [`Window::committed`], at once where the window is not mapped.
    pub(super) fn ask(&mut self, placement: Place) {
        if self.mode() == Mode::Floating && placement.mode() != Mode::Floating && self.mapped {
            self.restore = match (self.placement.mode(), self.next) {
                (Mode::Floating, _) | (_, None) => Some(Rect::at(self.floating_origin(), self.size)),
                // Its client did not get there yet: its size is still that of the mode before.
                (_, Some(_)) => self.floating_place().map(|at| Rect::at(at, self.asked)),
            };
        }
        if placement.mode() != Mode::Floating {
            self.resize = None;
        }
        if self.mapped {
            self.next = Some(placement);
        } else {
            self.placement = placement;
            self.next = None;
        }
    }

    /// Asks for its floating place back, with the size it had there.
    pub(super) fn ask_restore(&mut self) {
        self.asked = self.restore.map_or(Size::new(0, 0), Rect::size);
        self.ask(Place::Floating(self.restore.map(Rect::origin)));
    }

    fn floating_origin(&self) -> Point {
        self.floating_place().unwrap_or_else(|| self.geometry().origin())
    }

    /// Where it is to float; `None` where it is not to, or has no place yet.
    fn floating_place(&self) -> Option<Point> {
        match self.next.unwrap_or(self.placement) {
            Place::Floating(at) => at,
            Place::Maximised(_) | Place::Fullscreen(_) => None,
        }
    }

    /// Its client committed content of `size`; `answered` where it has acknowledged all that was asked.
    pub(super) fn committed(&mut self, size: Size, answered: bool) {
        if answered && let Some(next) = self.next.take() {
            self.placement = next;
        }
        if let (Some(resize), Place::Floating(Some(at))) = (self.resize, &mut self.placement) {
            let start = resize.start;
            if resize.edges.contains(Edges::LEFT) {
                at.x = start.right().saturating_sub(size.w);
            }
            if resize.edges.contains(Edges::TOP) {
                at.y = start.bottom().saturating_sub(size.h);
            }
            if answered && !resize.active {
                self.resize = None;
            }
        }
        self.size = size;
        if answered && self.mode() == Mode::Floating && !self.is_resizing() {
            self.asked = size; // what the client settled for is what it is told from now on
        }
    }

    /// Puts a floating window's top left corner somewhere; others only remember it for later.
    pub(super) fn move_to(&mut self, at: Point) {
        for placement in [Some(&mut self.placement), self.next.as_mut()].into_iter().flatten() {
            if let Place::Floating(origin) = placement {
                *origin = Some(at);
            }
        }
        match (self.mode(), &mut self.restore) {
            (Mode::Floating, _) => {}
            (_, Some(restore)) => (restore.x, restore.y) = (at.x, at.y),
            (_, restore @ None) => *restore = Some(Rect::at(at, Size::default())),
        }
    }

    /// Moves it and all it remembers, answered or not: its output moved or it goes to another one.
    pub(super) fn shift(&mut self, by: Point) {
        for placement in [Some(&mut self.placement), self.next.as_mut()].into_iter().flatten() {
            match placement {
                Place::Floating(Some(at)) => *at = Rect::at(*at, Size::default()).translated(by).origin(),
                Place::Floating(None) => {}
                Place::Maximised(area) | Place::Fullscreen(area) => *area = area.translated(by),
            }
        }
        self.restore = self.restore.map(|r| r.translated(by));
        if let Some(resize) = &mut self.resize {
            resize.start = resize.start.translated(by);
        }
    }

    /// Where it floats, or will again.
    pub fn floating_rect(&self) -> Option<Rect> {
        match self.next.unwrap_or(self.placement) {
            Place::Floating(at) => at.map(|at| Rect::at(at, self.size)),
            _ => self.restore,
        }
    }

    /// Asks its client for a size, floating windows only. Returns whether it changed.
    pub(super) fn ask_size(&mut self, size: Size) -> bool {
        let size = self.limits.clamp(size);
        self.mode() == Mode::Floating && std::mem::replace(&mut self.asked, size) != size
    }

    /// The user takes hold of edges; floating windows only. Returns whether it began.
    pub(super) fn begin_resize(&mut self, edges: Edges) -> bool {
        let may = self.mapped && self.mode() == Mode::Floating && !self.needs_place() && !edges.is_empty();
        if may {
            self.resize = Some(Resize { edges, start: self.geometry(), active: true });
        }
        may
    }

    /// The user has dragged the held edges this far from where they were. Returns whether the size asked for changed.
    pub(super) fn drag_edges(&mut self, dx: i32, dy: i32) -> bool {
        let Some(Resize { edges, start, active: true }) = self.resize else { return false };
        let axis = |extent: i32, delta: i32, low: bool, high: bool| match (low, high) {
            (true, _) => extent.saturating_sub(delta),
            (_, true) => extent.saturating_add(delta),
            _ => extent,
        };
        let w = axis(start.w, dx, edges.contains(Edges::LEFT), edges.contains(Edges::RIGHT));
        let h = axis(start.h, dy, edges.contains(Edges::TOP), edges.contains(Edges::BOTTOM));
        self.ask_size(Size::new(w, h))
    }

    /// The user lets go; the anchor stays until the client has answered.
    pub(super) fn end_resize(&mut self) {
        if let Some(resize) = &mut self.resize {
            resize.active = false;
        }
    }

    /// Its client took its content away: back to the beginning, only limits, parent and output remain.
    pub(super) fn unmap(&mut self) {
        let Self { limits, parent, output, workspace, .. } = *self;
        *self = Self { limits, parent, output, workspace, ..Self::new(self.id) };
    }
}

/// `size` in the middle of `area`, or at its top left corner where it is greater.
fn centred(area: Rect, size: Size) -> Rect {
    let x = area.x.saturating_add((area.w.saturating_sub(size.w) / 2).max(0));
    let y = area.y.saturating_add((area.h.saturating_sub(size.h) / 2).max(0));
    Rect::at(Point::new(x, y), size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(at: Point, size: Size) -> Window {
        let mut window = Window::new(WindowId(1));
        window.mapped = true;
        window.committed(size, true);
        window.move_to(at);
        window
    }

    #[test]
    fn limits_of_any_kind_clamp_to_the_nearest_size() {
        let limits =
            |min: (i32, i32), max: (i32, i32)| Limits { min: Size::new(min.0, min.1), max: Size::new(max.0, max.1) };
        for (limits, asked, expected) in [
            (limits((0, 0), (0, 0)), (640, 480), (640, 480)),
            (limits((0, 0), (0, 0)), (-5, 0), (1, 1)),
            (limits((100, 100), (200, 0)), (10, 10), (100, 100)),
            (limits((100, 100), (200, 0)), (900, 900), (200, 900)),
            (limits((300, 300), (200, 200)), (250, 250), (300, 300)),
        ] {
            assert_eq!(limits.clamp(Size::new(asked.0, asked.1)), Size::new(expected.0, expected.1));
        }
    }

    #[test]
    fn edges_nearest_to_a_point_follow_the_thirds() {
        let rect = Rect::new(100, 100, 300, 300);
        for (x, y, expected) in [
            (101, 101, Edges::LEFT | Edges::TOP),
            (399, 399, Edges::RIGHT | Edges::BOTTOM),
            (250, 101, Edges::TOP),
            (101, 250, Edges::LEFT),
            (250, 250, Edges::RIGHT | Edges::BOTTOM),
            (399, 250, Edges::RIGHT),
        ] {
            assert_eq!(Edges::nearest(rect, Point::new(x, y)), expected, "{x},{y}");
        }
    }

    #[test]
    fn resize_edge_of_opposite_or_no_edges_is_refused() {
        for (value, ok) in [(0, false), (1, true), (3, false), (5, true), (10, true), (12, false), (16, false)] {
            assert_eq!(Edges::from_resize_edge(value).is_some(), ok, "{value}");
        }
    }

    #[test]
    fn resize_from_the_top_left_keeps_the_bottom_right_whatever_the_client_commits() {
        let mut window = mapped(Point::new(100, 100), Size::new(200, 200));
        assert!(window.begin_resize(Edges::LEFT | Edges::TOP));
        assert!(window.drag_edges(-50, 30));
        assert_eq!(window.asked_size(), Size::new(250, 170));
        window.committed(Size::new(244, 168), false); // a terminal rounds to cells
        assert_eq!(window.geometry(), Rect::new(56, 132, 244, 168));
        window.end_resize();
        window.committed(Size::new(240, 160), true);
        assert_eq!(window.geometry(), Rect::new(60, 140, 240, 160));
        // Settled: what the client now does by itself grows to the right.
        window.committed(Size::new(300, 300), true);
        assert_eq!(window.geometry(), Rect::new(60, 140, 300, 300));
    }

    #[test]
    fn maximise_before_the_answer_keeps_the_old_geometry() {
        let mut window = mapped(Point::new(10, 20), Size::new(200, 100));
        window.ask(Place::Maximised(Rect::new(0, 30, 800, 570)));
        assert_eq!((window.mode(), window.shown_mode()), (Mode::Maximised, Mode::Floating));
        window.committed(Size::new(200, 100), false);
        assert_eq!(window.geometry(), Rect::new(10, 20, 200, 100));
        window.committed(Size::new(800, 570), true);
        assert_eq!(window.geometry(), Rect::new(0, 30, 800, 570));
        window.ask_restore();
        assert_eq!(window.asked_size(), Size::new(200, 100));
        window.committed(Size::new(200, 100), true);
        assert_eq!(window.geometry(), Rect::new(10, 20, 200, 100));
    }

    #[test]
    fn maximise_again_before_the_restored_size_is_committed_keeps_the_floating_geometry() {
        let (area, floating) = (Rect::new(0, 30, 800, 570), Rect::new(10, 20, 200, 100));
        for between in [Place::Maximised(area), Place::Fullscreen(Rect::new(0, 0, 800, 600))] {
            let mut window = mapped(floating.origin(), floating.size());
            window.ask(Place::Maximised(area));
            window.committed(area.size(), true);
            window.ask_restore();
            window.committed(area.size(), false);
            window.ask(between);
            window.committed(window.asked_size(), true);
            assert_eq!(window.floating_rect(), Some(floating));
            window.ask_restore();
            assert_eq!(window.asked_size(), floating.size());
            window.committed(floating.size(), true);
            assert_eq!(window.geometry(), floating);
        }
    }

    #[test]
    fn window_that_never_floated_has_no_floating_geometry_after_a_quick_change_of_mind() {
        let area = Rect::new(0, 30, 800, 570);
        let mut window = Window::new(WindowId(1));
        window.ask(Place::Maximised(area));
        window.mapped = true;
        window.committed(area.size(), true);
        window.ask_restore();
        window.ask(Place::Maximised(area));
        assert_eq!(window.floating_rect(), None);
        window.ask_restore();
        assert_eq!(window.asked_size(), Size::new(0, 0), "the client chooses");
    }

    #[test]
    fn fullscreen_of_a_client_that_stays_small_is_centred() {
        let mut window = mapped(Point::new(10, 20), Size::new(200, 100));
        window.ask(Place::Fullscreen(Rect::new(100, 0, 800, 600)));
        window.committed(Size::new(200, 100), true);
        assert_eq!(window.geometry(), Rect::new(400, 250, 200, 100));
        assert_eq!(window.covered(), Rect::new(100, 0, 800, 600));
    }

    #[test]
    fn drag_edges_to_the_integer_limits_does_not_overflow() {
        let mut window = mapped(Point::new(0, 0), Size::new(200, 100));
        assert!(window.begin_resize(Edges::RIGHT | Edges::TOP));
        window.drag_edges(i32::MAX, i32::MIN);
        assert_eq!(window.asked_size(), Size::new(i32::MAX, i32::MAX));
        window.drag_edges(i32::MIN, i32::MAX);
        assert_eq!(window.asked_size(), Size::new(1, 1));
    }
}
