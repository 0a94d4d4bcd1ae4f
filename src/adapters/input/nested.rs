//! The host's keyboard, pointer and touch, as they reach the nested window.
//!
//! Two halves share a queue. The [`Translator`] is fed by [`crate::adapters::output::nested`], which alone turns the
//! host's event loop; it says what each window event means in the port's words. The [`Nested`] face hands the queue
//! out, woken by an eventfd of its own: the host's descriptor may long be drained when the application gets here, and
//! what lies in a queue must never depend on it. The host gives no times, so an event's time is when it was read.
//!
//! The host repeats keys; repeats are dropped, since each client repeats for itself. What lock keys the host has
//! switched on before the window got the keyboard is not to be learnt from it.
//! Next: [`keyboard`], [`pointer`], [`scroll`], [`touch`], all pure.

mod keyboard;
mod pointer;
mod scroll;
mod touch;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use nix::sys::eventfd::{EfdFlags, EventFd};
use winit::event::{ElementState, WindowEvent};
use winit::platform::scancode::PhysicalKeyExtScancode;

use crate::domain::frame::Time;
use crate::domain::geometry::Size;
use crate::ports::input::{Event, Input, Press};

/// The window system the host speaks: what its events mean differs in places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// A Wayland compositor.
    Wayland,
    /// An X server.
    X11,
}

/// The window's inside, which positions are fractions of.
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    /// Host pixels.
    pub size_px: Size,
    /// Host pixels for one of the host's logical pixels.
    pub scale: f64,
}

/// Events translated and not yet handed out.
#[derive(Debug)]
struct Queue {
    events: RefCell<VecDeque<(Time, Event)>>,
    /// Readable while `events` holds something.
    wake: EventFd,
}

impl Queue {
    fn push(&self, now: Time, event: Event) {
        let mut events = self.events.borrow_mut();
        if events.is_empty() {
            // Fails only where the counter is full, and then it is readable, which is all that is asked of it.
            let _ = self.wake.write(1);
        }
        events.push_back((now, event));
    }

    fn len(&self) -> usize {
        self.events.borrow().len()
    }

    /// Puts events at a place that [`Queue::len`] gave, before those that were pushed since; the place after them.
    fn insert(&self, at: usize, now: Time, event: Event) -> usize {
        let at = at.min(self.len());
        self.push(now, event);
        self.events.borrow_mut().make_contiguous()[at..].rotate_right(1);
        at + 1
    }
}

/// The face towards the application.
#[derive(Debug)]
pub struct Nested {
    queue: Rc<Queue>,
}

/// Makes the two halves for a window that is the output named `output`.
///
/// # Errors
/// Where there is no file descriptor left.
pub fn pair(output: &str, host: HostKind) -> io::Result<(Translator, Nested)> {
    let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
    let queue = Rc::new(Queue { events: RefCell::new(VecDeque::with_capacity(64)), wake });
    let translator = Translator {
        host,
        output: output.to_owned(),
        keyboard: keyboard::Keyboard::new(host),
        focused_at: 0,
        pointer: pointer::Pointer::new(host),
        scroll: scroll::Scroll::default(),
        touch: touch::Touch::default(),
        queue: Rc::clone(&queue),
    };
    Ok((translator, Nested { queue }))
}

impl Input for Nested {
    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.queue.wake.as_fd())
    }

    fn dispatch(&mut self, _now: Time, tell: &mut dyn FnMut(Time, Event)) {
        let _ = self.queue.wake.read(); // nothing to read is no harm
        loop {
            // One at a time: `tell` may lead back to the translator, which then finds the queue free.
            let Some((time, event)) = self.queue.events.borrow_mut().pop_front() else { return };
            tell(time, event);
        }
    }
}

/// The half that reads window events.
#[derive(Debug)]
pub struct Translator {
    host: HostKind,
    output: String,
    keyboard: keyboard::Keyboard,
    /// How long the queue was when the focus came, for this batch.
    focused_at: usize,
    pointer: pointer::Pointer,
    scroll: scroll::Scroll,
    touch: touch::Touch,
    queue: Rc<Queue>,
}

impl Translator {
    /// Queues what `event` says about input; other events say nothing.
    pub fn translate(&mut self, event: &WindowEvent, inside: Inside, now: Time) {
        let queue = &self.queue;
        let tell = &mut |event| queue.push(now, event);
        match event {
            WindowEvent::Focused(focused) => {
                self.keyboard.focus(*focused, tell);
                self.focused_at = queue.len();
            }
            WindowEvent::ModifiersChanged(modifiers) => self.keyboard.modifiers(modifiers.state(), tell),
            WindowEvent::KeyboardInput { event, is_synthetic, .. } if !event.repeat => {
                // winit's code has the XKB offset of 8 taken off already, on both kinds of host.
                match event.physical_key.to_scancode() {
                    Some(code) if *is_synthetic => self.keyboard.name(code, press(event.state)),
                    Some(code) => self.keyboard.key(code, press(event.state), tell),
                    None => {}
                }
            }
            WindowEvent::CursorEntered { .. } => self.pointer.enter(tell),
            WindowEvent::CursorLeft { .. } => self.pointer.leave(tell),
            WindowEvent::CursorMoved { position, .. } if self.pointer.moves() => {
                let (x, y) = fraction(position.x, position.y, inside.size_px);
                tell(Event::PointerPosition { output: self.output.clone(), x, y });
            }
            WindowEvent::MouseInput { state, button, .. } => {
                if let Some(code) = pointer::code(*button, self.host) {
                    self.pointer.button(code, press(*state), tell);
                }
            }
            WindowEvent::MouseWheel { delta, phase, .. } => self.scroll.scroll(*delta, *phase, inside.scale, tell),
            WindowEvent::Touch(touch) => {
                let at = fraction(touch.location.x, touch.location.y, inside.size_px);
                self.touch.touch(touch.id, touch.phase, at, &self.output, tell);
            }
            _ => {}
        }
    }

    /// Ends a batch of [`Translator::translate`]: what came together belongs together.
    pub fn finish(&mut self, now: Time) {
        let (queue, at) = (&self.queue, &mut self.focused_at);
        self.keyboard.finish(&mut |event| *at = queue.insert(*at, now, event));
        self.touch.finish(&mut |event| queue.push(now, event));
    }
}

fn press(state: ElementState) -> Press {
    match state {
        ElementState::Pressed => Press::Pressed,
        ElementState::Released => Press::Released,
    }
}

/// A position in host pixels as fractions of the window, held inside it: a drag goes on beyond the edges.
fn fraction(x: f64, y: f64, size_px: Size) -> (f64, f64) {
    let part = |v: f64, side: i32| if side > 0 { (v / f64::from(side)).clamp(0.0, 1.0) } else { 0.0 };
    (part(x, size_px.w), part(y, size_px.h))
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use winit::dpi::PhysicalPosition;
    use winit::event::{DeviceId, MouseButton, MouseScrollDelta, TouchPhase};
    use winit::keyboard::PhysicalKey;

    use super::*;
    use crate::ports::input::{ScrollAxis, ScrollSource};

    const INSIDE: Inside = Inside { size_px: Size::new(800, 400), scale: 2.0 };

    fn readable(input: &Nested) -> bool {
        let mut fds = [PollFd::new(input.wake_fd().unwrap(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() > 0
    }

    fn drain(input: &mut Nested) -> Vec<(Time, Event)> {
        let mut told = Vec::new();
        input.dispatch(Time::from_ns(99), &mut |time, event| told.push((time, event)));
        told
    }

    #[test]
    fn events_queued_before_the_application_looks_keep_the_descriptor_readable() {
        let (mut translator, mut input) = pair("NESTED-1", HostKind::X11).unwrap();
        assert!(!readable(&input));
        let device_id = DeviceId::dummy();
        translator.translate(&WindowEvent::CursorEntered { device_id }, INSIDE, Time::from_ns(5));
        assert!(!readable(&input), "entering alone says nothing");
        let position = PhysicalPosition::new(200.0, 300.0);
        translator.translate(&WindowEvent::CursorMoved { device_id, position }, INSIDE, Time::from_ns(7));
        assert!(readable(&input));
        let at = Event::PointerPosition { output: "NESTED-1".into(), x: 0.25, y: 0.75 };
        assert_eq!(drain(&mut input), [(Time::from_ns(7), at)]);
        assert!(!readable(&input));
        translator.translate(&WindowEvent::CursorLeft { device_id }, INSIDE, Time::from_ns(8));
        assert!(readable(&input));
        assert_eq!(drain(&mut input), [(Time::from_ns(8), Event::PointerLeft)]);
    }

    #[test]
    fn translate_of_buttons_and_scroll_speaks_the_ports_units() {
        let (mut translator, mut input) = pair("NESTED-1", HostKind::Wayland).unwrap();
        let device_id = DeviceId::dummy();
        let now = Time::from_ns(1);
        translator.translate(&WindowEvent::CursorEntered { device_id }, INSIDE, now);
        let (state, button) = (ElementState::Pressed, MouseButton::Right);
        translator.translate(&WindowEvent::MouseInput { device_id, state, button }, INSIDE, now);
        let (delta, phase) = (MouseScrollDelta::LineDelta(0.0, -1.0), TouchPhase::Moved);
        translator.translate(&WindowEvent::MouseWheel { device_id, delta, phase }, INSIDE, now);
        let events: Vec<_> = drain(&mut input).into_iter().map(|(_, event)| event).collect();
        let wheel = Event::Scroll {
            source: ScrollSource::Wheel,
            horizontal: ScrollAxis::default(),
            vertical: ScrollAxis { distance: 15.0, v120: 120, stop: false },
        };
        assert_eq!(events, [Event::PointerButton { code: 0x111, press: Press::Pressed }, wheel]);
    }

    #[test]
    fn scancodes_of_a_whole_keyboard_survive_winits_names() {
        // What winit has no name for it keeps by number; no two codes may share a name.
        let lost: Vec<u32> =
            (1..=0x2ff).filter(|code| PhysicalKey::from_scancode(*code).to_scancode() != Some(*code)).collect();
        assert_eq!(lost, [0u32; 0], "codes that come out as another");
    }

    #[test]
    fn fraction_beyond_the_window_is_held_at_its_edge() {
        assert_eq!(fraction(-5.0, 900.0, INSIDE.size_px), (0.0, 1.0));
        assert_eq!(fraction(3.0, 4.0, Size::new(0, 0)), (0.0, 0.0));
    }
}
