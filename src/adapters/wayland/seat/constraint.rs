//! Locked and confined pointers: zwp_pointer_constraints_v1.
//!
//! A constraint is in force while the pointer is on its surface, inside its region, and the surface's window has the
//! keyboard. smithay ends it when the pointer leaves.

use smithay::input::pointer::PointerHandle;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::utils::{Logical, Point as SmithayPoint};
use smithay::wayland::compositor::{RectangleKind, RegionAttributes};
use smithay::wayland::pointer_constraints::{PointerConstraint, PointerConstraintsHandler, with_pointer_constraint};

use crate::adapters::wayland::state::State;
use crate::domain::geometry::Rect;

/// What an active constraint does to a motion.
enum Rule {
    Locked,
    Confined(Option<RegionAttributes>),
}

impl State {
    /// Where a motion to a point leads under the active constraint; `None` where the pointer stays.
    pub(super) fn constrained(&mut self, x: f64, y: f64) -> Option<(f64, f64)> {
        let Some((surface, left, top)) = self.seat.pointer_on.clone() else { return Some((x, y)) };
        let pointer = &self.seat.pointer;
        let rule = with_pointer_constraint(&surface, pointer, |constraint| {
            let constraint = constraint.filter(|constraint| constraint.is_active())?;
            Some(match &*constraint {
                PointerConstraint::Locked(_) => Rule::Locked,
                PointerConstraint::Confined(confined) => Rule::Confined(confined.region().cloned()),
            })
        });
        match rule {
            None => Some((x, y)),
            Some(Rule::Locked) => None,
            Some(Rule::Confined(region)) => {
                let inside = self.confine(&surface, region.as_ref(), x - left, y - top)?;
                Some((inside.0 + left, inside.1 + top))
            }
        }
    }

    /// The nearest point of a surface (its own coordinates) that a confined pointer may be at.
    fn confine(&self, surface: &WlSurface, region: Option<&RegionAttributes>, x: f64, y: f64) -> Option<(f64, f64)> {
        let content = self.core.surfaces.of(surface)?;
        let whole = Rect::from_size(content.size());
        let allowed = |x: f64, y: f64| content.takes_input(x, y) && in_region(region, x, y);
        if allowed(x, y) {
            return Some((x, y));
        }
        let parts = region.into_iter().flat_map(|region| &region.rects);
        let parts = parts
            .filter(|(kind, _)| matches!(kind, RectangleKind::Add))
            .filter_map(|(_, r)| Rect::new(r.loc.x, r.loc.y, r.size.w, r.size.h).intersection(whole));
        let alone = region.is_none().then_some(whole);
        let nearest = parts.chain(alone).map(|part| into_rect(part, x, y)).filter(|&(x, y)| allowed(x, y));
        let distance = |at: &(f64, f64)| (at.0 - x).powi(2) + (at.1 - y).powi(2);
        nearest.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Puts the constraint of what the pointer is on into force, if its time has come.
    pub(super) fn activate_constraint(&mut self) {
        let Some((surface, left, top)) = self.seat.pointer_on.clone() else { return };
        if self.seat.pointer.current_focus().as_ref() != Some(&surface) {
            return;
        }
        let (x, y) = self.pointer_place();
        let focus = self.seat.seat.get_keyboard().and_then(|keyboard| keyboard.current_focus());
        let root = self.core.surfaces.key(&surface).map(|key| self.core.surfaces.root(key));
        let root = root.and_then(|key| self.core.surfaces.get(key)).map(|surface| &surface.wl);
        let has_keyboard = focus.is_some() && focus.as_ref() == root;
        let takes = self.core.surfaces.of(&surface).is_some_and(|s| s.takes_input(x - left, y - top));
        with_pointer_constraint(&surface, &self.seat.pointer, |constraint| {
            let Some(constraint) = constraint else { return };
            let inside = takes && in_region(constraint.region(), x - left, y - top);
            if !constraint.is_active() && has_keyboard && inside {
                constraint.activate();
            } else if constraint.is_active() && !has_keyboard {
                constraint.deactivate();
            }
        });
    }
}

fn in_region(region: Option<&RegionAttributes>, x: f64, y: f64) -> bool {
    region.is_none_or(|region| region.contains((x.floor() as i32, y.floor() as i32)))
}

/// The nearest point inside a rectangle.
fn into_rect(rect: Rect, x: f64, y: f64) -> (f64, f64) {
    let axis = |v: f64, low: i32, extent: i32| {
        let low = f64::from(low);
        v.clamp(low, low + (f64::from(extent) - 1.0 / 256.0).max(0.0))
    };
    (axis(x, rect.x, rect.w), axis(y, rect.y, rect.h))
}

impl PointerConstraintsHandler for State {
    fn new_constraint(&mut self, _surface: &WlSurface, _pointer: &PointerHandle<Self>) {
        self.activate_constraint();
    }

    fn cursor_position_hint(
        &mut self,
        surface: &WlSurface,
        pointer: &PointerHandle<Self>,
        location: SmithayPoint<f64, Logical>,
    ) {
        let active = with_pointer_constraint(surface, pointer, |constraint| constraint.is_some_and(|c| c.is_active()));
        let on = self.seat.pointer_on.as_ref().filter(|(on, ..)| active && on == surface);
        if let Some(&(_, left, top)) = on
            && self.core.surfaces.of(surface).is_some_and(|s| s.takes_input(location.x, location.y))
        {
            // Not a motion: the pointer is locked and turns up there when it is let go.
            let (x, y) = self.clamp_to_outputs(left + location.x, top + location.y);
            pointer.set_location((x, y).into());
            self.shell.dirty = true;
        }
    }
}

smithay::delegate_pointer_constraints!(State);
