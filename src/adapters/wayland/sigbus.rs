//! Reading client memory that may vanish: a guard against SIGBUS.
//!
//! A client can shrink the file behind a mapping at any time; touching the missing pages then raises SIGBUS. While a
//! [`Guard`] stands over a mapping, the process-wide handler answers such a fault by mapping zero pages over the
//! mapping from the faulting page to its end, and remembers it; the read goes on and [`Guard::truncated`] tells.
//! Faults outside every guarded mapping go to the handler that was there before, by default the process's death.
//!
//! The handler is installed once and never removed. Guards are seen from every thread (a driver may copy on its own
//! threads), so they live in a fixed table of atomics: a signal handler may not lock or allocate. Next: [`super::shm`].

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::libc;

/// Guards that can stand at once; more wait for one to fall.
const SLOTS: usize = 32;

/// One guarded mapping. `len` is zero while nothing is guarded; `taken` says who may write the rest.
struct Slot {
    taken: AtomicBool,
    start: AtomicUsize,
    len: AtomicUsize,
    truncated: AtomicBool,
}

impl Slot {
    const fn free() -> Self {
        Self {
            taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            truncated: AtomicBool::new(false),
        }
    }
}

static TABLE: [Slot; SLOTS] = [const { Slot::free() }; SLOTS];
/// The handler's installation: what was there before, and the page size, which the handler cannot ask for.
static BEFORE: OnceLock<Before> = OnceLock::new();

struct Before {
    action: libc::sigaction,
    page: usize,
}

/// While it lives, reads of its mapping survive a shrunk file.
#[derive(Debug)]
pub(super) struct Guard {
    slot: usize,
}

impl Guard {
    /// Stands over the mapping of `len` bytes at `start`, which is page-aligned, made by mmap(2) with no more than
    /// reading in mind, and stays mapped until the guard falls.
    pub(super) fn new(start: *const u8, len: usize) -> Self {
        install();
        loop {
            for (index, slot) in TABLE.iter().enumerate() {
                if slot.taken.swap(true, Ordering::Acquire) {
                    continue;
                }
                slot.truncated.store(false, Ordering::Relaxed);
                slot.start.store(start as usize, Ordering::Relaxed);
                slot.len.store(len, Ordering::Release);
                return Self { slot: index };
            }
            std::thread::yield_now();
        }
    }

    /// Whether pages were missing since it stands.
    pub(super) fn truncated(&self) -> bool {
        TABLE[self.slot].truncated.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let slot = &TABLE[self.slot];
        slot.len.store(0, Ordering::Release);
        slot.taken.store(false, Ordering::Release);
    }
}

/// Puts the handler in place, once for the process.
fn install() {
    BEFORE.get_or_init(|| {
        // SAFETY: sysconf reads no memory of ours.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(4096);
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_sigbus;
        // SAFETY: all-zero is a valid sigaction (default action, empty mask, no flags) to be filled in below.
        let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
        new.sa_sigaction = handler as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: as above; it receives the present action.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both point to valid sigactions. The handler calls only what a signal handler may (atomics, mmap,
        // sigaction, the previous handler); it may run before BEFORE is set, which it copes with.
        if unsafe { libc::sigaction(libc::SIGBUS, &raw const new, &raw mut before) } != 0 {
            tracing::error!("cannot install a SIGBUS handler: {}", std::io::Error::last_os_error());
        }
        Before { action: before, page }
    });
}

extern "C" fn on_sigbus(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno is this thread's; it is put back below, as the interrupted code may be about to read it.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo, whose si_addr is meant for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    let handled = BEFORE.get().is_some_and(|before| cover(address, before.page));
    // SAFETY: as above.
    unsafe { *errno = saved };
    if !handled {
        pass_on(signal, info, context);
    }
}

/// Maps zeros over the guarded mapping that holds `address`, from its page to the end. False where there is none.
fn cover(address: usize, page: usize) -> bool {
    for slot in &TABLE {
        let len = slot.len.load(Ordering::Acquire);
        let start = slot.start.load(Ordering::Relaxed);
        let Some(offset) = address.checked_sub(start).filter(|offset| *offset < len) else { continue };
        let from = offset & !(page - 1);
        // SAFETY: the range lies inside one mapping that the guard's owner keeps mapped and reads only through raw
        // pointers, so replacing its pages breaks no reference; MAP_FIXED touches nothing outside it but the rest of
        // its last page, which belongs to it.
        let zeros = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(start + from),
                len - from,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if zeros == libc::MAP_FAILED {
            return false;
        }
        slot.truncated.store(true, Ordering::Release);
        return true;
    }
    false
}

/// Does what would have been done had the handler not been there.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().map(|before| before.action);
    match before {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: whoever installed it said that it takes three arguments; they are the kernel's own.
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    unsafe { std::mem::transmute(action.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: whoever installed it said that it takes one argument.
                let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(action.sa_sigaction) };
                handler(signal);
            }
        }
        _ => {
            // The default: on return the instruction faults again and the kernel ends the process.
            // SAFETY: all-zero is the default action with an empty mask.
            let default: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: a valid sigaction; the old one is not asked for.
            unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
        }
    }
}
