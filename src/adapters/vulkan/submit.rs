//! Command buffers, the timeline and the queue.
//!
//! Everything submitted takes the next value of one timeline semaphore, its [`FrameSerial`]; the timeline reads `n` once
//! all up to `n` are complete. [`FRAMES`] slots record frames, each with a command buffer and mapped room for its
//! instances; a slot is free again when its frame is complete, and nobody waits for it: `render` says
//! `NotReady`. Uploads without a frame and captures have recorders of their own, a few, made when first needed.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ash::vk;

use super::buffer::{Buffer, Direction};
use super::device::Device;
use super::error::{CallError, NewError};
use super::owned::Owned;
use super::pipeline::INSTANCE_BYTES;
use super::sync::Export;
use super::waiter::Waiter;
use crate::domain::frame::FrameSerial;

/// Frames that can be in flight.
const FRAMES: usize = 3;
/// Other submissions that can be in flight.
const MAX_OTHERS: usize = 32;
/// Instances that fit a slot at the start.
const START_INSTANCES: u64 = 512;

/// More submissions at once than anybody should need.
pub(super) const TOO_MANY: CallError =
    CallError { call: "submitting without a frame", result: vk::Result::ERROR_TOO_MANY_OBJECTS };

/// A command buffer with a pool of its own.
pub(super) struct Recorder {
    pool: Owned<vk::CommandPool>,
    commands: vk::CommandBuffer,
    serial: FrameSerial,
}

/// What a frame is recorded with.
pub(super) struct FrameSlot {
    recorder: Recorder,
    instances: Buffer,
    export: Option<Export>,
}

/// A semaphore that a submission waits for, with the stages that need it.
pub(super) type Wait = (vk::Semaphore, vk::PipelineStageFlags2);

/// The queue's side of the renderer.
pub(super) struct Submitter {
    // Stopped before the timeline goes.
    waiter: Waiter,
    device: Arc<Device>,
    timeline: Owned<vk::Semaphore>,
    submitted: u64,
    completed: u64,
    frames: Vec<FrameSlot>,
    next: usize,
    others: Vec<Recorder>,
    submits: u64,
}

impl Submitter {
    /// With all frame slots.
    ///
    /// # Errors
    /// [`NewError::Device`], [`NewError::Waiter`].
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, NewError> {
        let failed = |source| NewError::Device { device: device.gpu().probe.name.clone(), source };
        let timeline = create_timeline(device).map_err(failed)?;
        let mut frames = Vec::with_capacity(FRAMES);
        for _ in 0..FRAMES {
            let recorder = Recorder::new(device).map_err(failed)?;
            let instances = create_instances(device, START_INSTANCES).map_err(failed)?;
            frames.push(FrameSlot { recorder, instances, export: None });
        }
        let waiter = Waiter::new(Arc::clone(device), timeline.raw()).map_err(NewError::Waiter)?;
        Ok(Self {
            waiter,
            device: Arc::clone(device),
            timeline,
            submitted: 0,
            completed: 0,
            frames,
            next: 0,
            others: Vec::with_capacity(MAX_OTHERS),
            submits: 0,
        })
    }

    /// `vkQueueSubmit2` calls since start.
    pub(super) fn submits(&self) -> u64 {
        self.submits
    }

    /// The thread's side.
    pub(super) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// What was submitted last.
    pub(super) fn submitted(&self) -> FrameSerial {
        FrameSerial(self.submitted)
    }

    /// What was complete when [`Submitter::poll`] was called last.
    pub(super) fn completed(&self) -> FrameSerial {
        FrameSerial(self.completed)
    }

    /// Asks the timeline what is complete. Does not block.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn poll(&mut self) -> Result<FrameSerial, CallError> {
        if self.completed < self.submitted {
            // SAFETY: the timeline is alive.
            let reached = unsafe { self.device.raw().get_semaphore_counter_value(self.timeline.raw()) };
            self.completed = self.device.check("vkGetSemaphoreCounterValue", reached)?;
        }
        Ok(self.completed())
    }

    /// Waits until everything submitted is complete; false at the limit.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn wait(&mut self, limit_ns: u64) -> Result<bool, CallError> {
        let (semaphores, values) = ([self.timeline.raw()], [self.submitted]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the timeline is alive.
        match unsafe { self.device.raw().wait_semaphores(&info, limit_ns) } {
            Err(vk::Result::TIMEOUT) => Ok(false),
            waited => self.device.check("vkWaitSemaphores", waited).map(|()| true),
        }
    }

    /// A free frame slot's place, with room for `instances`; a buffer that became too small is returned. `None` where
    /// all slots are in flight.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn begin_frame(&mut self, instances: u64) -> Result<Option<vk::CommandBuffer>, CallError> {
        let slot = &mut self.frames[self.next]; // `next` counts modulo their number
        if slot.recorder.serial.0 > self.completed {
            return Ok(None);
        }
        if slot.instances.bytes() < instances * INSTANCE_BYTES {
            // The slot's frame is complete: the old buffer is in nobody's use.
            slot.instances = create_instances(&self.device, instances.next_power_of_two())?;
        }
        slot.recorder.begin(&self.device).map(Some)
    }

    /// Where the frame begun last keeps its instances.
    pub(super) fn instances(&self) -> &Buffer {
        &self.frames[self.next].instances
    }

    /// Whether a frame could begin.
    pub(super) fn has_free_frame(&self) -> bool {
        self.frames[self.next].recorder.serial.0 <= self.completed
    }

    /// Submits the frame begun last; with `fence`, tells a fence that signals with it, where the device can.
    ///
    /// # Errors
    /// The failing call; nothing was submitted.
    pub(super) fn submit_frame(
        &mut self,
        waits: &[vk::SemaphoreSubmitInfo<'_>],
        signal: Option<vk::Semaphore>,
        fence: bool,
    ) -> Result<(FrameSerial, Option<OwnedFd>), CallError> {
        let slot = &mut self.frames[self.next];
        let commands = slot.recorder.commands;
        let exported = match fence && self.device.fence_export().is_some() {
            true => Some(Export::ready(&mut slot.export, &self.device)?),
            false => None,
        };
        let serial = self.submit(Some(commands), waits, [signal, exported])?;
        let slot = &mut self.frames[self.next];
        slot.recorder.serial = serial;
        self.next = (self.next + 1) % FRAMES;
        let export = slot.export.as_mut().filter(|_| exported.is_some());
        Ok((serial, export.and_then(|export| export.take(&self.device))))
    }

    /// Begins a submission that is no frame; `None` where too many are in flight.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn begin_other(&mut self) -> Result<Option<(usize, vk::CommandBuffer)>, CallError> {
        let free = self.others.iter().position(|recorder| recorder.serial.0 <= self.completed);
        let at = match free {
            Some(at) => at,
            None if self.others.len() < MAX_OTHERS => {
                self.others.push(Recorder::new(&self.device)?);
                self.others.len() - 1
            }
            None => return Ok(None),
        };
        Ok(Some((at, self.others[at].begin(&self.device)?)))
    }

    /// Submits what [`Submitter::begin_other`] began as `at`.
    ///
    /// # Errors
    /// The failing call; nothing was submitted.
    pub(super) fn submit_other(&mut self, at: usize) -> Result<FrameSerial, CallError> {
        let serial = self.submit(Some(self.others[at].commands), &[], [None; 2])?;
        self.others[at].serial = serial;
        Ok(serial)
    }

    /// Submits nothing, so that there is a serial after everything before, presents included.
    ///
    /// # Errors
    /// The failing call; nothing was submitted.
    pub(super) fn submit_mark(&mut self, wait: Option<Wait>) -> Result<FrameSerial, CallError> {
        let (semaphore, stages) = wait.unwrap_or_default();
        let waits = [vk::SemaphoreSubmitInfo::default().semaphore(semaphore).stage_mask(stages)];
        self.submit(None, &waits[..usize::from(wait.is_some())], [None; 2])
    }

    /// Submits nothing but that `semaphore` is signalled.
    ///
    /// # Errors
    /// The failing call; nothing was submitted.
    pub(super) fn submit_signal(&mut self, semaphore: vk::Semaphore) -> Result<FrameSerial, CallError> {
        self.submit(None, &[], [Some(semaphore), None])
    }

    fn submit(
        &mut self,
        commands: Option<vk::CommandBuffer>,
        waits: &[vk::SemaphoreSubmitInfo<'_>],
        signals: [Option<vk::Semaphore>; 2],
    ) -> Result<FrameSerial, CallError> {
        let buffers = [vk::CommandBufferSubmitInfo::default().command_buffer(commands.unwrap_or_default())];
        let value = self.submitted + 1;
        // Completion is that of everything, hence all stages; waits name theirs.
        let done = vk::SemaphoreSubmitInfo::default().stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS);
        let mut all = [done.semaphore(self.timeline.raw()).value(value), done, done];
        let mut count = 1;
        for signal in signals.into_iter().flatten() {
            all[count] = done.semaphore(signal); // two at most
            count += 1;
        }
        let info = vk::SubmitInfo2::default()
            .command_buffer_infos(&buffers[..usize::from(commands.is_some())])
            .wait_semaphore_infos(waits)
            .signal_semaphore_infos(&all[..count]);
        // SAFETY: the commands are recorded and not in flight; every object they name lives until the serial is
        // complete (`retire`); the semaphores are unsignalled or, waited for, signalled by an acquire, a
        // submission or a fence; this thread is the queue's only user.
        let submitted = unsafe { self.device.raw().queue_submit2(self.device.queue(), &[info], vk::Fence::null()) };
        self.device.check("vkQueueSubmit2", submitted)?;
        self.submits += 1;
        self.submitted = value;
        self.waiter.submitted(value);
        Ok(FrameSerial(value))
    }
}

impl Recorder {
    fn new(device: &Arc<Device>) -> Result<Self, CallError> {
        let info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::TRANSIENT)
            .queue_family_index(device.gpu().family);
        // SAFETY: the family is the one whose queue was created.
        let made = unsafe { device.raw().create_command_pool(&info, Some(device.callbacks())) };
        let pool = Owned::new(device, "vkCreateCommandPool", made)?.named("recorder");
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool.raw())
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool is new; the buffer is freed with it.
        let made = unsafe { device.raw().allocate_command_buffers(&info) };
        let all = device.check("vkAllocateCommandBuffers", made)?;
        Ok(Self { pool, commands: all.first().copied().unwrap_or_default(), serial: FrameSerial(0) })
    }

    /// Starts recording over. Only for one whose serial is complete.
    fn begin(&mut self, device: &Device) -> Result<vk::CommandBuffer, CallError> {
        // SAFETY: the pool's one command buffer is not in flight (the caller looked at its serial).
        let reset = unsafe { device.raw().reset_command_pool(self.pool.raw(), vk::CommandPoolResetFlags::empty()) };
        device.check("vkResetCommandPool", reset)?;
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the command buffer is in the initial state after the reset.
        let begun = unsafe { device.raw().begin_command_buffer(self.commands, &info) };
        device.check("vkBeginCommandBuffer", begun)?;
        Ok(self.commands)
    }
}

fn create_timeline(device: &Arc<Device>) -> Result<Owned<vk::Semaphore>, CallError> {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: timeline semaphores are enabled.
    let made = unsafe { device.raw().create_semaphore(&info, Some(device.callbacks())) };
    Ok(Owned::new(device, "vkCreateSemaphore", made)?.named("timeline"))
}

fn create_instances(device: &Arc<Device>, count: u64) -> Result<Buffer, CallError> {
    let bytes = count * INSTANCE_BYTES;
    Buffer::new(device, bytes, vk::BufferUsageFlags::VERTEX_BUFFER, Direction::Up, "instances")
}
