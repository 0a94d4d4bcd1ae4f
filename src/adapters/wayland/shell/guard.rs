//! The door of the shell protocols: what smithay lets pass and the protocol does not.
//!
//! Every request of xdg-shell comes through here first, and that of layer surfaces which could hurt, as those of
//! wl_surface do through `compositor`. smithay's sizes must not be negative: it asserts so in debug builds. It adds
//! positions up in 32 bits: one farther out than [`FAR`] is brought back to it, where it means the same.

use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_popup::XdgPopup;
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_positioner::{self, XdgPositioner};
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_surface::{self, XdgSurface};
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_toplevel::{self, XdgToplevel};
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_wm_base::{self, XdgWmBase};
use smithay::reexports::wayland_protocols_wlr::layer_shell::v1::server::zwlr_layer_shell_v1::ZwlrLayerShellV1;
use smithay::reexports::wayland_protocols_wlr::layer_shell::v1::server::zwlr_layer_surface_v1::{
    self, ZwlrLayerSurfaceV1,
};
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::{
    Client, DataInit, Dispatch, DisplayHandle, Resource, WEnum, delegate_dispatch, delegate_global_dispatch,
};
use smithay::wayland::shell::wlr_layer::{WlrLayerShellGlobalData, WlrLayerShellState, WlrLayerSurfaceUserData};
use smithay::wayland::shell::xdg::{
    XdgPositionerUserData, XdgShellState, XdgShellSurfaceUserData, XdgSurfaceUserData, XdgWmBaseUserData,
};

use crate::adapters::wayland::state::State;

/// Logical pixels from anything to anything that places or sizes a surface, at most: far off every screen, while the sum
/// of a dozen such still fits 32 bits.
const FAR: i32 = 1 << 24;

/// Brings numbers back to [`FAR`].
fn limit<const N: usize>(numbers: [&mut i32; N]) {
    numbers.into_iter().for_each(|number| *number = (*number).clamp(-FAR, FAR));
}

impl Dispatch<XdgWmBase, XdgWmBaseUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        base: &XdgWmBase,
        request: xdg_wm_base::Request,
        data: &XdgWmBaseUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let xdg_wm_base::Request::GetXdgSurface { surface, .. } = &request
            && state.core.surfaces.of(surface).is_some_and(|surface| surface.is_mapped())
        {
            return base.post_error(xdg_wm_base::Error::InvalidSurfaceState, "the surface has content already");
        }
        <XdgShellState as Dispatch<_, _, Self>>::request(state, client, base, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, base: &XdgWmBase, data: &XdgWmBaseUserData) {
        <XdgShellState as Dispatch<_, _, Self>>::destroyed(state, client, base, data);
    }
}

impl Dispatch<XdgSurface, XdgSurfaceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        surface: &XdgSurface,
        mut request: xdg_surface::Request,
        data: &XdgSurfaceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let xdg_surface::Request::SetWindowGeometry { x, y, width, height } = &mut request {
            if *width <= 0 || *height <= 0 {
                return surface.post_error(xdg_surface::Error::InvalidSize, "the window geometry is empty");
            }
            limit([x, y, width, height]);
        }
        // smithay does not say which xdg_surface a new role is of: whoever hears of the role finds it here.
        state.shell.role_giver = Some(surface.clone());
        <XdgShellState as Dispatch<_, _, Self>>::request(state, client, surface, request, data, display, init);
        state.shell.role_giver = None;
    }

    fn destroyed(state: &mut Self, client: ClientId, surface: &XdgSurface, data: &XdgSurfaceUserData) {
        <XdgShellState as Dispatch<_, _, Self>>::destroyed(state, client, surface, data);
    }
}

impl Dispatch<XdgPositioner, XdgPositionerUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        positioner: &XdgPositioner,
        mut request: xdg_positioner::Request,
        data: &XdgPositionerUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        match &mut request {
            xdg_positioner::Request::SetSize { width: x, height: y } | xdg_positioner::Request::SetOffset { x, y } => {
                limit([x, y])
            }
            xdg_positioner::Request::SetAnchorRect { x, y, width, height } => limit([x, y, width, height]),
            xdg_positioner::Request::SetParentSize { parent_width, parent_height } => {
                if *parent_width < 0 || *parent_height < 0 {
                    return positioner.post_error(xdg_positioner::Error::InvalidInput, "the parent's size is negative");
                }
                limit([parent_width, parent_height]);
            }
            _ => {}
        }
        <XdgShellState as Dispatch<_, _, Self>>::request(state, client, positioner, request, data, display, init);
    }
}

impl Dispatch<XdgToplevel, XdgShellSurfaceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        toplevel: &XdgToplevel,
        request: xdg_toplevel::Request,
        data: &XdgShellSurfaceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let xdg_toplevel::Request::SetMaxSize { width, height } | xdg_toplevel::Request::SetMinSize { width, height } =
            request
            && (width < 0 || height < 0)
        {
            return toplevel.post_error(xdg_toplevel::Error::InvalidSize, "a size limit is negative");
        }
        if let xdg_toplevel::Request::Resize { edges: WEnum::Unknown(edges), .. } = request {
            let message = format!("there is no edge {edges}");
            return toplevel.post_error(xdg_toplevel::Error::InvalidResizeEdge, message);
        }
        <XdgShellState as Dispatch<_, _, Self>>::request(state, client, toplevel, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, toplevel: &XdgToplevel, data: &XdgShellSurfaceUserData) {
        <XdgShellState as Dispatch<_, _, Self>>::destroyed(state, client, toplevel, data);
    }
}

impl Dispatch<ZwlrLayerSurfaceV1, WlrLayerSurfaceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        panel: &ZwlrLayerSurfaceV1,
        request: zwlr_layer_surface_v1::Request,
        data: &WlrLayerSurfaceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let zwlr_layer_surface_v1::Request::SetSize { width, height } = request
            && (i32::try_from(width).is_err() || i32::try_from(height).is_err())
        {
            return panel.post_error(zwlr_layer_surface_v1::Error::InvalidSize, "the size is beyond all measure");
        }
        <WlrLayerShellState as Dispatch<_, _, Self>>::request(state, client, panel, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, panel: &ZwlrLayerSurfaceV1, data: &WlrLayerSurfaceUserData) {
        <WlrLayerShellState as Dispatch<_, _, Self>>::destroyed(state, client, panel, data);
    }
}

delegate_global_dispatch!(State: [XdgWmBase: ()] => XdgShellState);
delegate_dispatch!(State: [XdgPopup: XdgShellSurfaceUserData] => XdgShellState);
delegate_global_dispatch!(State: [ZwlrLayerShellV1: WlrLayerShellGlobalData] => WlrLayerShellState);
delegate_dispatch!(State: [ZwlrLayerShellV1: ()] => WlrLayerShellState);
