//! What is said on the control socket. **Stable**: fields are added, never renamed or removed; readers ignore those
//! they do not know. `resources/man/transom.1` documents it for people.
//!
//! Names are in snake case, times in nanoseconds (`_ns`), sizes in bytes (`_bytes`) or pixels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::frame::{Counters, Holdings};

/// One line to the compositor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Answered by [`Reply::Outputs`].
    Outputs,
    /// Answered by [`Reply::Windows`].
    Windows,
    /// Answered by [`Reply::Stats`].
    Stats,
    /// Reads the configuration again; a mistake is an error, and what was in force stays.
    Reload,
    /// Ends the compositor.
    Quit,
    /// Does what a key binding can.
    Action {
        /// As in compositor.toml, e.g. `close 3`.
        action: String,
    },
    /// Answered by [`Reply::Screenshot`] and the picture's bytes.
    Screenshot {
        /// The output's name; without it all outputs as they lie on the desktop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// x, y, width and height in pixels of the whole picture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<[i32; 4]>,
    },
}

/// One line from the compositor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done.
    Ok(Reply),
    /// It was not, and why.
    Error(String),
}

/// What is told of a request that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Nothing to tell.
    Done,
    /// The outputs, in the order they came.
    Outputs(Vec<Output>),
    /// The windows, the one focused last first.
    Windows(Vec<Window>),
    /// The counts.
    Stats(Box<Stats>),
    /// The picture, whose bytes follow the line.
    Screenshot(Screenshot),
}

/// An output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Who made it.
    pub make: String,
    /// Which model.
    pub model: String,
    /// Physical pixels, before its transform.
    pub width: i32,
    /// Physical pixels, before its transform.
    pub height: i32,
    /// Refresh rate in mHz.
    pub refresh_mhz: u32,
    /// From logical to physical pixels.
    pub scale: f64,
    /// As in compositor.toml.
    pub transform: String,
    /// Its place on the desktop: x, y, width and height in logical pixels.
    pub logical: [i32; 4],
    /// The workspace that it shows, counted from 1; absent where it shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<u32>,
}

/// A window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its number, for actions.
    pub id: u64,
    /// What its client calls itself.
    pub app_id: String,
    /// Its title.
    pub title: String,
    /// Its client's process, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The name of its output; empty while there is none.
    pub output: String,
    /// Counted from 1.
    pub workspace: u32,
    /// x, y, width and height in logical pixels of the desktop, without shadows.
    pub geometry: [i32; 4],
    /// Has the keyboard.
    pub focused: bool,
    /// Fills the output's usable area.
    pub maximised: bool,
    /// Fills the output.
    pub fullscreen: bool,
    /// Is hidden until it is focused.
    pub minimised: bool,
    /// Its client answers when asked whether it lives.
    pub responding: bool,
}

/// A picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screenshot {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Bytes of PNG that follow the line.
    pub png_bytes: u64,
}

/// The counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// The compositor's version.
    pub version: String,
    /// Since the process started.
    pub uptime_ns: u64,
    /// From the process's start to the first frame presented; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_frame_ns: Option<u64>,
    /// Connected Wayland clients.
    pub clients: u64,
    /// What they made and what is kept of it.
    pub objects: Objects,
    /// Open file descriptors of the process.
    pub fds: u64,
    /// How often the device was lost and made anew.
    pub device_losses: u64,
    /// The renderer in force.
    pub renderer: Renderer,
    /// Costs since start, over every renderer there was.
    pub total: Cost,
    /// What the renderer holds now.
    pub holdings: Held,
    /// Each output.
    pub outputs: Vec<OutputStats>,
}

/// What clients made and what is kept of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objects {
    /// wl_surfaces.
    pub surfaces: u64,
    /// wl_buffers of wl_shm.
    pub buffers: u64,
    /// wl_buffers that are being read, the client's own object there or gone.
    pub held_buffers: u64,
    /// wl_shm pools, the client's own object there or gone.
    pub pools: u64,
    /// The pools' bytes, as their clients said.
    pub pool_bytes: u64,
}

/// The renderer in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Renderer {
    /// The device, for people.
    pub device: String,
    /// Whether the CPU computes the pixels.
    pub software: bool,
    /// Upload tiers and whether each is there, best first.
    pub upload_tiers: Vec<Ability>,
    /// Everything else of note.
    pub features: Vec<Ability>,
}

/// Something that a device has or lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ability {
    /// Its name.
    pub name: String,
    /// Why it is not there; absent where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Frames of one output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputStats {
    /// Its name.
    pub name: String,
    /// Frames that reached the screen.
    pub presented: u64,
    /// Of those, without compositing.
    pub scanned_out: u64,
    /// Redraws that found nothing changed and submitted nothing.
    pub skipped: u64,
    /// Frames submitted that were never shown.
    pub discarded: u64,
    /// Redraws that failed and were tried again.
    pub failed: u64,
    /// What the last submitted frame cost.
    pub last_frame: Cost,
}

/// What frames cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// `vkQueueSubmit2` calls.
    pub submits: u64,
    /// `vkCmdPipelineBarrier2` calls.
    pub barrier_calls: u64,
    /// Of those, calls that only new images make.
    pub setup_barrier_calls: u64,
    /// Draw calls.
    pub draws: u64,
    /// Copies in the place of draws.
    pub transfers: u64,
    /// Descriptors written.
    pub descriptor_writes: u64,
    /// Vulkan objects created or allocated.
    pub objects_created: u64,
    /// Vulkan objects destroyed or freed.
    pub objects_destroyed: u64,
    /// Fences that frames were made to wait for.
    pub fences_imported: u64,
    /// Fences that frames carried.
    pub fences_exported: u64,
    /// Fences of frames left in clients' dma-bufs.
    pub fences_attached: u64,
    /// Semaphores made for fences.
    pub semaphores_created: u64,
    /// Of those, destroyed.
    pub semaphores_destroyed: u64,
    /// How often one came back to its pool.
    pub semaphores_returned: u64,
    /// Allocations that the driver asked of the host.
    pub driver_host_allocations: u64,
    /// What the validation layers complained about; nothing where they are off.
    pub validation_messages: u64,
    /// Bytes of wl_shm content copied, by tier.
    pub shm: BTreeMap<String, Copied>,
}

/// Bytes copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// By the CPU.
    pub cpu_bytes: u64,
    /// By the GPU.
    pub gpu_bytes: u64,
}

/// What the renderer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Imports alive.
    pub live_imports: u64,
    /// Their device memory.
    pub live_bytes: u64,
    /// Imports forgotten that a frame in flight still reads.
    pub retired_imports: u64,
    /// Their device memory.
    pub retired_bytes: u64,
    /// Entries of the deferred list.
    pub deferred_entries: u64,
    /// Targets.
    pub targets: u64,
    /// Staging memory.
    pub staging_bytes: u64,
    /// Semaphores for fences.
    pub semaphores: u64,
    /// Of those, the ones that a frame waits for or is about to.
    pub semaphores_in_use: u64,
    /// Vulkan objects alive.
    pub vulkan_objects: u64,
}

impl From<&Counters> for Cost {
    fn from(c: &Counters) -> Self {
        let staging = Copied { cpu_bytes: c.staging_cpu_bytes, gpu_bytes: c.staging_gpu_bytes };
        let host_copy = Copied { cpu_bytes: c.host_copy_cpu_bytes, gpu_bytes: 0 };
        Self {
            submits: c.submits,
            barrier_calls: c.barrier_calls,
            setup_barrier_calls: c.setup_barrier_calls,
            draws: c.draws,
            transfers: c.transfers,
            descriptor_writes: c.descriptor_writes,
            objects_created: c.objects_created,
            objects_destroyed: c.objects_destroyed,
            fences_imported: c.fences_imported,
            fences_exported: c.fences_exported,
            fences_attached: c.fences_attached,
            semaphores_created: c.semaphores_created,
            semaphores_destroyed: c.semaphores_destroyed,
            semaphores_returned: c.semaphores_returned,
            driver_host_allocations: c.driver_host_allocations,
            validation_messages: c.validation_messages,
            shm: [("staging".to_owned(), staging), ("host-copy".to_owned(), host_copy)].into(),
        }
    }
}

impl From<&Holdings> for Held {
    fn from(h: &Holdings) -> Self {
        Self {
            live_imports: h.textures,
            live_bytes: h.texture_bytes,
            retired_imports: h.retired_textures,
            retired_bytes: h.retired_bytes,
            deferred_entries: h.deferred_entries,
            targets: h.targets,
            staging_bytes: h.staging_bytes,
            semaphores: h.semaphores,
            semaphores_in_use: h.semaphores_in_use,
            vulkan_objects: h.vulkan_objects,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines_are_as_documented() {
        let screenshot = |output: Option<&str>, part| Request::Screenshot { output: output.map(str::to_owned), part };
        for (line, request) in [
            (r#"{"request":"outputs"}"#, Request::Outputs),
            (r#"{"request":"windows"}"#, Request::Windows),
            (r#"{"request":"stats"}"#, Request::Stats),
            (r#"{"request":"reload"}"#, Request::Reload),
            (r#"{"request":"quit"}"#, Request::Quit),
            (r#"{"request":"action","action":"close 3"}"#, Request::Action { action: "close 3".into() }),
            (r#"{"request":"screenshot"}"#, screenshot(None, None)),
            (r#"{"request":"screenshot","output":"A","part":[1,2,3,4]}"#, screenshot(Some("A"), Some([1, 2, 3, 4]))),
        ] {
            assert_eq!(serde_json::from_str::<Request>(line).unwrap(), request);
            assert_eq!(serde_json::to_string(&request).unwrap(), line);
        }
    }

    #[test]
    fn answer_lines_are_as_documented() {
        let picture = Screenshot { width: 2, height: 1, png_bytes: 70 };
        for (line, answer) in [
            (r#"{"ok":"done"}"#, Answer::Ok(Reply::Done)),
            (r#"{"error":"no"}"#, Answer::Error("no".into())),
            (r#"{"ok":{"windows":[]}}"#, Answer::Ok(Reply::Windows(vec![]))),
            (r#"{"ok":{"screenshot":{"width":2,"height":1,"png_bytes":70}}}"#, Answer::Ok(Reply::Screenshot(picture))),
        ] {
            assert_eq!(serde_json::to_string(&answer).unwrap(), line);
            assert_eq!(serde_json::from_str::<Answer>(line).unwrap(), answer);
        }
    }
}
