//! What a client of zwp_linux_dmabuf_v1 hears.

use std::os::fd::OwnedFd;

use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::{Connection, Dispatch, Proxy, QueueHandle, event_created_child};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_buffer_params_v1::{self, ZwpLinuxBufferParamsV1};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_dmabuf_feedback_v1::{self, ZwpLinuxDmabufFeedbackV1};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_dmabuf_v1::{self, ZwpLinuxDmabufV1};

use super::client::Events;

/// Everything that a test may ask about.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Formats, of versions that know no modifiers.
    pub(crate) formats: Vec<u32>,
    /// Formats and modifiers, of the version that knows no feedback.
    pub(crate) pairs: Vec<(u32, u64)>,
    /// Buffers of zwp_linux_buffer_params_v1.created.
    pub(crate) created: Vec<WlBuffer>,
    pub(crate) failed: usize,
    /// Events of feedback objects, by name, in order.
    pub(crate) events: Vec<&'static str>,
    /// The last format table and its bytes.
    pub(crate) table: Option<(OwnedFd, u32)>,
    /// Main and target devices.
    pub(crate) devices: Vec<Vec<u8>>,
    /// Rows of the table, two bytes each.
    pub(crate) indices: Vec<u8>,
}

impl Dispatch<ZwpLinuxDmabufV1, ()> for Events {
    fn event(
        events: &mut Self,
        _: &ZwpLinuxDmabufV1,
        event: zwp_linux_dmabuf_v1::Event,
        _: &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            zwp_linux_dmabuf_v1::Event::Format { format } => events.dmabuf.formats.push(format),
            zwp_linux_dmabuf_v1::Event::Modifier { format, modifier_hi, modifier_lo } => {
                events.dmabuf.pairs.push((format, u64::from(modifier_hi) << 32 | u64::from(modifier_lo)));
            }
            _ => {}
        }
    }
}

impl Dispatch<ZwpLinuxBufferParamsV1, ()> for Events {
    fn event(
        events: &mut Self,
        _: &ZwpLinuxBufferParamsV1,
        event: zwp_linux_buffer_params_v1::Event,
        _: &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            zwp_linux_buffer_params_v1::Event::Created { buffer } => events.dmabuf.created.push(buffer),
            zwp_linux_buffer_params_v1::Event::Failed => events.dmabuf.failed += 1,
            _ => {}
        }
    }

    event_created_child!(Self, ZwpLinuxBufferParamsV1, [
        zwp_linux_buffer_params_v1::EVT_CREATED_OPCODE => (WlBuffer, ()),
    ]);
}

impl Dispatch<ZwpLinuxDmabufFeedbackV1, ()> for Events {
    fn event(
        events: &mut Self,
        feedback: &ZwpLinuxDmabufFeedbackV1,
        event: zwp_linux_dmabuf_feedback_v1::Event,
        _: &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use zwp_linux_dmabuf_feedback_v1::Event;
        assert!(feedback.is_alive(), "an object that was destroyed is told something");
        let told = &mut events.dmabuf;
        told.events.push(match event {
            Event::FormatTable { fd, size } => {
                told.table = Some((fd, size));
                "format_table"
            }
            Event::MainDevice { device } => {
                told.devices.push(device);
                "main_device"
            }
            Event::TrancheTargetDevice { device } => {
                told.devices.push(device);
                "tranche_target_device"
            }
            Event::TrancheFlags { .. } => "tranche_flags",
            Event::TrancheFormats { indices } => {
                told.indices = indices;
                "tranche_formats"
            }
            Event::TrancheDone => "tranche_done",
            Event::Done => "done",
            _ => "unknown",
        });
    }
}
