//! The thread that waits for the device, so that the loop need not: each completed submission makes an eventfd readable.
//!
//! It touches nothing but the timeline semaphore. It sleeps on a condition while nothing is in flight, and in
//! vkWaitSemaphores while something is. Stopped and joined before anything it uses is destroyed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use ash::vk;
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::device::Device;

/// How long one wait lasts before it looks whether it should stop: only matters where the device hangs.
const PATIENCE_NS: u64 = 250_000_000;

/// The thread and what it shares.
pub(super) struct Waiter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    completed: EventFd,
}

#[derive(Default)]
struct State {
    submitted: u64,
    stop: bool,
}

impl Waiter {
    /// Waits for `timeline`, which the caller keeps alive until this is dropped.
    ///
    /// # Errors
    /// Those of eventfd and of starting a thread.
    pub(super) fn new(device: Arc<Device>, timeline: vk::Semaphore) -> io::Result<Self> {
        let completed = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), completed });
        let theirs = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("vulkan-waiter".into()).spawn(move || theirs.run(&device, timeline))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Submissions up to `serial` are in flight.
    pub(super) fn submitted(&self, serial: u64) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).submitted = serial;
        self.shared.changed.notify_one();
    }

    /// Readable once a submission completed since [`Waiter::clear`].
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.shared.completed.as_fd()
    }

    /// Makes the descriptor unreadable until the next completion.
    pub(super) fn clear(&self) {
        // EAGAIN says that it was not readable, which is as well.
        let _ = self.shared.completed.read();
    }
}

impl Shared {
    fn run(&self, device: &Device, timeline: vk::Semaphore) {
        let mut completed = 0;
        while self.wait_for_work(completed) {
            let (semaphores, values) = ([timeline], [completed + 1]);
            let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
            // SAFETY: the timeline lives until the thread is joined; waiting needs no other synchronisation.
            let waited = unsafe { device.raw().wait_semaphores(&info, PATIENCE_NS) };
            if waited == Err(vk::Result::TIMEOUT) {
                continue;
            }
            // SAFETY: as above.
            let reached = waited.and_then(|()| unsafe { device.raw().get_semaphore_counter_value(timeline) });
            let lost = device.check("vkWaitSemaphores", reached).is_err();
            completed = reached.unwrap_or(completed);
            // Only fails when 2^64 completions were never read.
            let _ = self.completed.write(1);
            if lost {
                return; // drained callers find out for themselves
            }
        }
    }

    /// Sleeps until more than `completed` is submitted; false when it is time to stop.
    fn wait_for_work(&self, completed: u64) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self
            .changed
            .wait_while(state, |state| !state.stop && state.submitted <= completed)
            .unwrap_or_else(PoisonError::into_inner);
        !state.stop
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.shared.changed.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the waiter thread panicked");
        }
    }
}
