//! Pointers of clients: zwlr_virtual_pointer_v1.
//!
//! Events take effect as they come, each with its own frame, except axes: those are one event until
//! zwlr_virtual_pointer_v1.frame, as with a real device. What a virtual pointer holds goes up with it.

use std::sync::Mutex;

use smithay::output::Output;
use smithay::reexports::wayland_protocols_wlr::virtual_pointer::v1::server::{
    zwlr_virtual_pointer_manager_v1::{self, ZwlrVirtualPointerManagerV1},
    zwlr_virtual_pointer_v1::{self, ZwlrVirtualPointerV1},
};
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_output::WlOutput;
use smithay::reexports::wayland_server::protocol::wl_pointer::{Axis, AxisSource, ButtonState};
use smithay::reexports::wayland_server::{Client, DataInit, Dispatch, DisplayHandle, GlobalDispatch, New, WEnum};

use super::held::Device;
use crate::adapters::wayland::state::State;
use crate::domain::geometry::Rect;
use crate::domain::output::OutputId;
use crate::ports::input::{Press, ScrollAxis, ScrollSource};

/// A scroll that waits for its frame.
#[derive(Debug, Default)]
struct Scroll {
    source: Option<ScrollSource>,
    horizontal: ScrollAxis,
    vertical: ScrollAxis,
    any: bool,
}

/// A virtual pointer's own state.
#[derive(Debug)]
pub struct VirtualPointer {
    number: u32,
    /// What absolute positions are on; `None` is all outputs together.
    output: Option<OutputId>,
    scroll: Mutex<Scroll>,
}

pub(super) fn create_global(display: &DisplayHandle) {
    display.create_global::<State, ZwlrVirtualPointerManagerV1, ()>(2, ());
}

impl State {
    /// What absolute positions of a virtual pointer are on, logical.
    fn virtual_area(&self, output: Option<OutputId>) -> Rect {
        let desktop = &self.shell.desktop;
        match output.and_then(|id| desktop.screen(id)) {
            Some(screen) => screen.rect,
            None => desktop.screens().iter().fold(Rect::default(), |hull, screen| hull.hull(screen.rect)),
        }
    }

    fn scroll_frame(&mut self, data: &VirtualPointer) {
        let Ok(mut pending) = data.scroll.lock() else { return };
        let Scroll { source, horizontal, vertical, any } = std::mem::take(&mut *pending);
        drop(pending);
        if any {
            self.scroll(source.unwrap_or(ScrollSource::Continuous), horizontal, vertical);
        }
    }
}

impl VirtualPointer {
    fn scrolled(&self, axis: WEnum<Axis>, change: impl FnOnce(&mut ScrollAxis)) {
        let (Ok(mut pending), WEnum::Value(axis)) = (self.scroll.lock(), axis) else { return };
        pending.any = true;
        change(match axis {
            Axis::HorizontalScroll => &mut pending.horizontal,
            _ => &mut pending.vertical,
        });
    }
}

impl GlobalDispatch<ZwlrVirtualPointerManagerV1, ()> for State {
    fn bind(
        _: &mut Self,
        _: &DisplayHandle,
        _: &Client,
        manager: New<ZwlrVirtualPointerManagerV1>,
        (): &(),
        init: &mut DataInit<'_, Self>,
    ) {
        init.init(manager, ());
    }
}

impl Dispatch<ZwlrVirtualPointerManagerV1, ()> for State {
    fn request(
        state: &mut Self,
        _: &Client,
        _: &ZwlrVirtualPointerManagerV1,
        request: zwlr_virtual_pointer_manager_v1::Request,
        (): &(),
        _: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        use zwlr_virtual_pointer_manager_v1::Request;
        let (id, output): (_, Option<WlOutput>) = match request {
            Request::CreateVirtualPointer { id, .. } => (id, None),
            Request::CreateVirtualPointerWithOutput { id, output, .. } => (id, output),
            _ => return,
        };
        let output = output.and_then(|output| Output::from_resource(&output));
        let output = output.and_then(|output| state.core.outputs.by_output(&output)).map(|entry| entry.id);
        state.seat.virtual_devices += 1;
        init.init(id, VirtualPointer { number: state.seat.virtual_devices, output, scroll: Mutex::default() });
    }
}

impl Dispatch<ZwlrVirtualPointerV1, VirtualPointer> for State {
    fn request(
        state: &mut Self,
        _: &Client,
        pointer: &ZwlrVirtualPointerV1,
        request: zwlr_virtual_pointer_v1::Request,
        data: &VirtualPointer,
        _: &DisplayHandle,
        _: &mut DataInit<'_, Self>,
    ) {
        use smithay::reexports::wayland_server::Resource;
        use zwlr_virtual_pointer_v1::{Error, Request};
        match request {
            Request::Motion { dx, dy, .. } => state.pointer_motion((dx, dy), (dx, dy)),
            Request::MotionAbsolute { x, y, x_extent, y_extent, .. } => {
                if x_extent == 0 || y_extent == 0 {
                    return;
                }
                let area = state.virtual_area(data.output).to_f64();
                let part = |v: u32, extent: u32| (f64::from(v) / f64::from(extent)).min(1.0);
                state.pointer_to(area.x + part(x, x_extent) * area.w, area.y + part(y, y_extent) * area.h);
            }
            Request::Button { button, state: press, .. } => {
                let press = match press {
                    WEnum::Value(ButtonState::Pressed) => Press::Pressed,
                    _ => Press::Released,
                };
                state.button(Device::Virtual(data.number), button, press);
            }
            Request::Axis { axis, value, .. } => {
                if matches!(axis, WEnum::Unknown(_)) {
                    pointer.post_error(Error::InvalidAxis, "there is no such axis");
                }
                data.scrolled(axis, |scroll| scroll.distance += value);
            }
            Request::AxisDiscrete { axis, value, discrete, .. } => {
                if matches!(axis, WEnum::Unknown(_)) {
                    pointer.post_error(Error::InvalidAxis, "there is no such axis");
                }
                data.scrolled(axis, |scroll| {
                    scroll.distance += value;
                    scroll.v120 = scroll.v120.saturating_add(discrete.saturating_mul(120));
                });
            }
            Request::AxisStop { axis, .. } => data.scrolled(axis, |scroll| scroll.stop = true),
            Request::AxisSource { axis_source } => {
                let source = match axis_source {
                    WEnum::Value(AxisSource::Wheel | AxisSource::WheelTilt) => ScrollSource::Wheel,
                    WEnum::Value(AxisSource::Finger) => ScrollSource::Finger,
                    WEnum::Value(_) => ScrollSource::Continuous,
                    WEnum::Unknown(_) => {
                        pointer.post_error(Error::InvalidAxisSource, "there is no such axis source");
                        return;
                    }
                };
                if let Ok(mut scroll) = data.scroll.lock() {
                    scroll.source = Some(source);
                }
            }
            Request::Frame => state.scroll_frame(data),
            _ => {}
        }
    }

    fn destroyed(state: &mut Self, _: ClientId, _: &ZwlrVirtualPointerV1, data: &VirtualPointer) {
        let device = Device::Virtual(data.number);
        while let Some(code) = state.seat.buttons.any_of(device) {
            state.button(device, code, Press::Released);
        }
    }
}
