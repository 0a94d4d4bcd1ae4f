//! Where panels go, what they leave to windows, and where a new window appears.
//!
//! Pure arithmetic in *logical* coordinates. Panels are arranged as zwlr_layer_surface_v1 says: those that claim an
//! exclusive zone first, from the overlay layer down, each taking its strip from the usable area; then the others, in
//! what is left, or in the whole output where they ask to ignore zones.

use super::geometry::{Point, Rect, Size};
use super::window::Edges;

/// Which windows a panel is above or beneath. Source: zwlr_layer_shell_v1.layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// Beneath all.
    Background,
    /// Beneath windows.
    Bottom,
    /// Above windows, beneath a fullscreen one.
    Top,
    /// Above all.
    Overlay,
}

impl Layer {
    /// Back to front.
    pub const ALL: [Self; 4] = [Self::Background, Self::Bottom, Self::Top, Self::Overlay];
}

/// Space kept free next to the edges that a panel is anchored to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margins {
    /// Above.
    pub top: i32,
    /// To the right.
    pub right: i32,
    /// Below.
    pub bottom: i32,
    /// To the left.
    pub left: i32,
}

/// What a panel wants of other surfaces. Source: zwlr_layer_surface_v1.set_exclusive_zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// Stay clear of others' zones, claim none.
    #[default]
    Neutral,
    /// Take this many logical pixels from the edge it is anchored to.
    Exclusive(u32),
    /// Heed no zone.
    Ignore,
}

/// A panel as its client describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Where in the stack.
    pub layer: Layer,
    /// The output's edges it clings to.
    pub anchor: Edges,
    /// Wanted size; zero on an axis stretches it between opposite anchors.
    pub size: Size,
    /// Kept free around it.
    pub margins: Margins,
    /// Its claim.
    pub zone: Zone,
    /// Which edge the claim is for, where the anchors leave a choice.
    pub exclusive_edge: Option<Edges>,
}

impl Panel {
    /// The edge that an exclusive zone is taken from; `None` where the anchors name none, and the zone counts as
    /// neutral.
    fn zone_edge(&self) -> Option<Edges> {
        let horizontal = Edges::LEFT | Edges::RIGHT;
        let vertical = Edges::TOP | Edges::BOTTOM;
        if let Some(edge) = self.exclusive_edge {
            return self.anchor.contains(edge).then_some(edge);
        }
        [(Edges::TOP, horizontal), (Edges::BOTTOM, horizontal), (Edges::LEFT, vertical), (Edges::RIGHT, vertical)]
            .into_iter()
            .find_map(|(edge, across)| (self.anchor == edge || self.anchor == edge | across).then_some(edge))
    }

    /// Its rectangle inside `area`.
    fn within(&self, area: Rect) -> Rect {
        let m = self.margins;
        let has = |edge| self.anchor.contains(edge);
        let (x, w) = axis((area.x, area.w), self.size.w, has(Edges::LEFT), has(Edges::RIGHT), m.left, m.right);
        let (y, h) = axis((area.y, area.h), self.size.h, has(Edges::TOP), has(Edges::BOTTOM), m.top, m.bottom);
        Rect::new(x, y, w, h)
    }
}

/// Start and extent on one axis.
fn axis((start, extent): (i32, i32), wanted: i32, low: bool, high: bool, before: i32, after: i32) -> (i32, i32) {
    let end = start.saturating_add(extent);
    // A margin counts only at an edge the panel is anchored to.
    let before = if low { before } else { 0 };
    let after = if high { after } else { 0 };
    if wanted == 0 {
        let first = start.saturating_add(before);
        return (first, end.saturating_sub(after).saturating_sub(first).max(0));
    }
    let at = match (low, high) {
        (true, false) => start.saturating_add(before),
        (false, true) => end.saturating_sub(after).saturating_sub(wanted),
        _ => {
            let (first, last) = (start.saturating_add(before), end.saturating_sub(after));
            first.saturating_add(last.saturating_sub(first).saturating_sub(wanted) / 2)
        }
    };
    (at, wanted)
}

/// Takes a panel's zone and the margin at its edge from `usable`.
fn claim(usable: Rect, edge: Edges, zone: u32, margins: Margins) -> Rect {
    let zone = i32::try_from(zone).unwrap_or(i32::MAX);
    let cut = |margin: i32, extent: i32| zone.saturating_add(margin).clamp(0, extent.max(0));
    let (mut left, mut top, mut right, mut bottom) = (usable.x, usable.y, usable.right(), usable.bottom());
    if edge == Edges::TOP {
        top += cut(margins.top, usable.h);
    } else if edge == Edges::BOTTOM {
        bottom -= cut(margins.bottom, usable.h);
    } else if edge == Edges::LEFT {
        left += cut(margins.left, usable.w);
    } else if edge == Edges::RIGHT {
        right -= cut(margins.right, usable.w);
    }
    Rect::from_edges(left, top, right, bottom)
}

/// Arranges the panels of one output (in order of creation): `rects` gets a rectangle for each, in the same order.
/// Returns what they leave to windows.
pub fn arrange(output: Rect, panels: &[Panel], rects: &mut Vec<Rect>) -> Rect {
    rects.clear();
    rects.resize(panels.len(), Rect::default());
    let mut usable = output;
    for claiming in [true, false] {
        for layer in Layer::ALL.into_iter().rev() {
            for (panel, rect) in panels.iter().zip(rects.iter_mut()).filter(|(panel, _)| panel.layer == layer) {
                let claimed = match panel.zone {
                    Zone::Exclusive(zone) => panel.zone_edge().map(|edge| (edge, zone)),
                    Zone::Neutral | Zone::Ignore => None,
                };
                if claimed.is_some() != claiming {
                    continue;
                }
                *rect = panel.within(if panel.zone == Zone::Ignore { output } else { usable });
                if let Some((edge, zone)) = claimed {
                    usable = claim(usable, edge, zone, panel.margins);
                }
            }
        }
    }
    usable
}

/// The step from one window to the next where they are cascaded.
const CASCADE: i32 = 32;

/// Places that are tried before one is shared with another window.
const MAX_STEPS: usize = 64;

/// Where a window of `size` is in the middle of `over` (its parent, or the usable area), as far as `usable` allows.
pub fn centred(usable: Rect, over: Rect, size: Size) -> Point {
    let x = over.x.saturating_add(over.w.saturating_sub(size.w) / 2);
    let y = over.y.saturating_add(over.h.saturating_sub(size.h) / 2);
    fit(usable, Rect::new(x, y, size.w, size.h))
}

/// A step right and down of `before`. On an axis on which a window of `size` would leave the usable area it starts over,
/// at the area's edge.
pub fn cascaded(usable: Rect, before: Point, size: Size) -> Point {
    let axis = |before: i32, extent: i32, start: i32, end: i32| {
        let next = before.saturating_add(CASCADE);
        if next < start || next.saturating_add(extent) > end { start } else { next }
    };
    Point::new(axis(before.x, size.w, usable.x, usable.right()), axis(before.y, size.h, usable.y, usable.bottom()))
}

/// Where a new floating window of `size` goes: `first`, or as many cascading steps from there as it takes to find a place
/// that is not `taken`; `first` after all where every one is.
pub fn place(usable: Rect, first: Point, size: Size, taken: impl Fn(Point) -> bool) -> Point {
    let steps = std::iter::successors(Some(first), |at| Some(cascaded(usable, *at, size)));
    steps.take(MAX_STEPS).find(|at| !taken(*at)).unwrap_or(first)
}

/// The nearest place for `rect` wholly inside `usable`; its top left corner is inside where it is too large.
pub fn fit(usable: Rect, rect: Rect) -> Point {
    let x = rect.x.min(usable.right().saturating_sub(rect.w)).max(usable.x);
    let y = rect.y.min(usable.bottom().saturating_sub(rect.h)).max(usable.y);
    Point::new(x, y)
}

/// What of a window must stay in reach of the pointer.
const REACH: i32 = 48;

/// The nearest place for `rect` where enough of its top is inside `usable` to take hold of it.
pub fn reachable(usable: Rect, rect: Rect) -> Point {
    let reach = REACH.min(rect.w.max(1));
    let x = rect.x.min(usable.right().saturating_sub(reach)).max(usable.x.saturating_sub(rect.w).saturating_add(reach));
    let y = rect.y.min(usable.bottom().saturating_sub(REACH.min(rect.h.max(1)))).max(usable.y);
    Point::new(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: Rect = Rect::new(100, 0, 800, 600);
    const WIDE: Edges = Edges::LEFT.union(Edges::RIGHT);
    const TALL: Edges = Edges::TOP.union(Edges::BOTTOM);

    fn panel(layer: Layer, anchor: Edges, size: (i32, i32), zone: Zone) -> Panel {
        Panel {
            layer,
            anchor,
            size: Size::new(size.0, size.1),
            margins: Margins::default(),
            zone,
            exclusive_edge: None,
        }
    }

    fn arranged(panels: &[Panel]) -> (Vec<Rect>, Rect) {
        let mut rects = Vec::new();
        let usable = arrange(OUTPUT, panels, &mut rects);
        (rects, usable)
    }

    #[test]
    fn arrange_of_one_panel_follows_its_anchors() {
        let bar = Zone::Exclusive(30);
        for (anchor, size, zone, rect, usable) in [
            (Edges::TOP | WIDE, (0, 30), bar, (100, 0, 800, 30), (100, 30, 800, 570)),
            (Edges::TOP, (200, 30), bar, (400, 0, 200, 30), (100, 30, 800, 570)),
            (Edges::BOTTOM | WIDE, (0, 30), bar, (100, 570, 800, 30), (100, 0, 800, 570)),
            (Edges::LEFT | TALL, (30, 0), bar, (100, 0, 30, 600), (130, 0, 770, 600)),
            (Edges::RIGHT | TALL, (30, 0), bar, (870, 0, 30, 600), (100, 0, 770, 600)),
            // A corner or all four edges claim nothing.
            (Edges::TOP | Edges::LEFT, (30, 30), bar, (100, 0, 30, 30), (100, 0, 800, 600)),
            (WIDE | TALL, (0, 0), bar, (100, 0, 800, 600), (100, 0, 800, 600)),
            (Edges::empty(), (100, 100), Zone::Neutral, (450, 250, 100, 100), (100, 0, 800, 600)),
            (WIDE | TALL, (100, 0), Zone::Neutral, (450, 0, 100, 600), (100, 0, 800, 600)),
        ] {
            let (rects, left) = arranged(&[panel(Layer::Top, anchor, size, zone)]);
            let (x, y, w, h) = rect;
            assert_eq!(rects, [Rect::new(x, y, w, h)], "{anchor:?}");
            let (x, y, w, h) = usable;
            assert_eq!(left, Rect::new(x, y, w, h), "{anchor:?}");
        }
    }

    #[test]
    fn arrange_of_claiming_and_neutral_panels_takes_the_claims_first_whatever_the_order() {
        let dock = panel(Layer::Bottom, Edges::LEFT | TALL, (50, 0), Zone::Neutral);
        let bar = panel(Layer::Top, Edges::TOP | WIDE, (0, 30), Zone::Exclusive(30));
        let wallpaper = panel(Layer::Background, WIDE | TALL, (0, 0), Zone::Ignore);
        let (rects, usable) = arranged(&[dock, wallpaper, bar]);
        assert_eq!(rects, [Rect::new(100, 30, 50, 570), OUTPUT, Rect::new(100, 0, 800, 30)]);
        assert_eq!(usable, Rect::new(100, 30, 800, 570));
    }

    #[test]
    fn arrange_with_margins_counts_them_in_the_claim() {
        let mut bar = panel(Layer::Top, Edges::TOP | WIDE, (0, 30), Zone::Exclusive(30));
        bar.margins = Margins { top: 10, right: 20, bottom: 99, left: 5 };
        let (rects, usable) = arranged(&[bar]);
        assert_eq!(rects, [Rect::new(105, 10, 775, 30)]);
        assert_eq!(usable, Rect::new(100, 40, 800, 560));
    }

    #[test]
    fn arrange_with_an_exclusive_edge_lets_a_corner_panel_claim() {
        let mut corner = panel(Layer::Top, Edges::TOP | Edges::LEFT, (60, 30), Zone::Exclusive(60));
        corner.exclusive_edge = Some(Edges::LEFT);
        assert_eq!(arranged(&[corner]).1, Rect::new(160, 0, 740, 600));
    }

    #[test]
    fn arrange_with_claims_greater_than_the_output_leaves_an_empty_area() {
        let mut bar = panel(Layer::Top, Edges::TOP | WIDE, (0, 30), Zone::Exclusive(u32::MAX));
        bar.margins.top = i32::MAX;
        let (_, usable) = arranged(&[bar, bar]);
        assert!(usable.is_empty());
        assert_eq!((usable.x, usable.w), (100, 800));
    }

    #[test]
    fn cascaded_from_anywhere_steps_and_starts_over_axis_by_axis() {
        let size = Size::new(700, 500);
        for (before, expected) in [
            ((100, 0), (132, 32)),
            ((168, 32), (200, 64)),
            ((169, 32), (100, 64)),
            ((132, 69), (164, 0)),
            ((900, 600), (100, 0)),
            ((-5000, -5000), (100, 0)),
            ((i32::MAX, i32::MIN), (100, 0)),
        ] {
            let at = cascaded(OUTPUT, Point::new(before.0, before.1), size);
            assert_eq!((at.x, at.y), expected, "{before:?}");
        }
        let wide = cascaded(OUTPUT, Point::new(100, 0), Size::new(4000, 100));
        assert_eq!((wide.x, wide.y), (100, 32), "what fits nowhere keeps its corner inside");
    }

    #[test]
    fn place_of_windows_of_one_size_finds_every_step_before_it_shares_one() {
        let size = Size::new(700, 500);
        let first = centred(OUTPUT, OUTPUT, size);
        let mut corners = Vec::new();
        for _ in 0..7 {
            let at = place(OUTPUT, first, size, |p| corners.contains(&p));
            corners.push(at);
        }
        let corners: Vec<_> = corners.iter().map(|at| (at.x, at.y)).collect();
        assert_eq!(corners, [(150, 50), (182, 82), (100, 0), (132, 32), (164, 64), (196, 96), (150, 50)]);
    }

    #[test]
    fn centred_over_anything_stays_inside_the_area() {
        let at = |over, w, h| centred(OUTPUT, over, Size::new(w, h));
        assert_eq!(at(OUTPUT, 200, 100), Point::new(400, 250));
        assert_eq!(at(Rect::new(100, 0, 50, 50), 200, 100), Point::new(100, 0));
        assert_eq!(at(OUTPUT, 4000, 4000), Point::new(100, 0), "the corner of what is too large");
    }

    #[test]
    fn reachable_of_windows_dragged_away_keeps_their_top_in_reach() {
        for (x, y, expected) in [
            (300, 100, (300, 100)),
            (-5000, 100, (100 - 200 + 48, 100)),
            (5000, 5000, (900 - 48, 600 - 48)),
            (300, -20, (300, 0)),
        ] {
            let at = reachable(OUTPUT, Rect::new(x, y, 200, 100));
            assert_eq!((at.x, at.y), expected, "{x},{y}");
        }
    }
}
