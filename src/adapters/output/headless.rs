//! An output without a screen: one offscreen target, refreshes by the clock.
//!
//! Refreshes lie at `epoch + n / rate`, computed from `n`, so no rounding adds up; a frame is on screen at the first
//! refresh after it was presented and its pixels are there, as on a display that flips on a fence. Its target always holds the last frame composited, so it can be captured. Where
//! scan-out is allowed a client's buffer that covers it counts as shown without being read. Deliberately absent: a
//! thread, a timer of its own (the application waits until [`Output::next_wake`]).

use std::os::fd::BorrowedFd;

use crate::domain::frame::{FrameSerial, Time};
use crate::domain::geometry::{Scale, Size};
use crate::domain::mode::Mode;
use crate::domain::plane::Abilities;
use crate::ports::output::{Content, Event, Info, Output, Presented};
use crate::ports::renderer::{Acquired, RenderError, Renderer, TargetId};

/// A frame on its way.
#[derive(Clone, Copy, Debug)]
enum Flip {
    /// Its pixels are not there yet.
    Rendering(FrameSerial),
    /// Its pixels will never be there: their renderer went away.
    Dropped,
    /// It is shown at this refresh.
    At { refresh: u64, zero_copy: bool },
}

/// See the module's docs.
#[derive(Debug)]
pub struct Headless {
    info: Info,
    epoch: Time,
    target: Option<TargetId>,
    flip: Option<Flip>,
}

impl Headless {
    /// An output with no target yet: see [`Output::attach`]. Its refreshes are counted from `epoch`.
    pub fn new(name: String, mode: Mode, abilities: Abilities, epoch: Time) -> Self {
        let info = Info {
            name,
            make: "Transom".to_owned(),
            model: "Headless".to_owned(),
            physical_mm: Size::default(),
            mode,
            preferred_scale: Scale::ONE,
            scan_out: abilities.scan_out,
            cursor_plane: abilities.cursor_plane,
        };
        Self { info, epoch, target: None, flip: None }
    }

    fn refresh_time(&self, refresh: u64) -> Time {
        self.epoch.plus_ns(self.info.mode.refresh_at_ns(refresh))
    }

    /// The first refresh later than `now`.
    fn refresh_after(&self, now: Time) -> u64 {
        let since = u128::from(now.since_ns(self.epoch));
        let near = (since * u128::from(self.info.mode.refresh_mhz) / 1_000_000_000_000) as u64;
        // `near` is rounded down, and so are the refreshes' times: the answer is one of the next two.
        if self.refresh_time(near) > now {
            near
        } else if self.refresh_time(near + 1) > now {
            near + 1
        } else {
            near + 2
        }
    }
}

impl Output for Headless {
    fn info(&self) -> &Info {
        &self.info
    }

    fn acquire(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError> {
        let target = self.target.ok_or(RenderError::Unknown)?;
        Ok((target, renderer.acquire(target)?))
    }

    fn present(&mut self, content: Content, now: Time) {
        debug_assert!(self.flip.is_none(), "presented while a frame is on its way");
        self.flip = Some(match content {
            Content::Composited(serial) => Flip::Rendering(serial),
            Content::ScannedOut => Flip::At { refresh: self.refresh_after(now), zero_copy: true },
        });
    }

    fn rendered(&mut self, until: FrameSerial, now: Time) {
        if matches!(self.flip, Some(Flip::Rendering(serial)) if serial <= until) {
            self.flip = Some(Flip::At { refresh: self.refresh_after(now), zero_copy: false });
        }
    }

    fn capture_target(&self) -> Option<TargetId> {
        self.target
    }

    fn next_wake(&self) -> Option<Time> {
        match self.flip? {
            Flip::Rendering(_) => None,
            Flip::Dropped => Some(self.epoch),
            Flip::At { refresh, .. } => Some(self.refresh_time(refresh)),
        }
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn dispatch(&mut self, now: Time, tell: &mut dyn FnMut(Event)) {
        let (refresh, zero_copy) = match self.flip {
            Some(Flip::At { refresh, zero_copy }) => (refresh, zero_copy),
            Some(Flip::Dropped) => {
                self.flip = None;
                return tell(Event::Discarded);
            }
            Some(Flip::Rendering(_)) | None => return,
        };
        let time = self.refresh_time(refresh);
        if time > now {
            return;
        }
        self.flip = None;
        tell(Event::Presented(Presented {
            time,
            sequence: refresh,
            period_ns: self.info.mode.period_ns(),
            vsync: true,
            hw_clock: false,
            hw_completion: false,
            zero_copy,
        }));
    }

    fn release(&mut self, renderer: &mut dyn Renderer) {
        if matches!(self.flip, Some(Flip::Rendering(_))) {
            self.flip = Some(Flip::Dropped);
        }
        if let Some(target) = self.target.take() {
            renderer.destroy_target(target);
        }
    }

    fn attach(&mut self, renderer: &mut dyn Renderer) -> Result<(), RenderError> {
        self.release(renderer);
        self.target = Some(renderer.create_offscreen(self.info.mode.size)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(mode: &str) -> Headless {
        Headless::new("HEADLESS-1".into(), mode.parse().unwrap(), Abilities::default(), Time::from_ns(77))
    }

    fn presented(output: &mut Headless, now: Time) -> Option<Presented> {
        let mut told = None;
        output.dispatch(now, &mut |event| match event {
            Event::Presented(presented) => assert_eq!(told.replace(presented), None),
            other => panic!("{other:?}"),
        });
        told
    }

    #[test]
    fn frame_is_presented_at_the_next_refresh_and_once() {
        let mut output = output("64x64@100");
        let now = Time::from_ns(77 + 25_000_000);
        output.present(Content::Composited(FrameSerial(1)), Time::from_ns(77));
        output.rendered(FrameSerial(1), now);
        let at = output.next_wake().unwrap();
        assert_eq!(at, Time::from_ns(77 + 30_000_000));
        assert_eq!(presented(&mut output, Time::from_ns(at.as_ns() - 1)), None);
        let told = presented(&mut output, at.plus_ns(5)).unwrap();
        assert_eq!((told.time, told.sequence, told.zero_copy), (at, 3, false));
        assert_eq!(presented(&mut output, at.plus_ns(5)), None);
        assert_eq!(output.next_wake(), None);
    }

    #[test]
    fn frame_whose_pixels_are_late_is_presented_late() {
        let mut output = output("64x64@100");
        output.present(Content::Composited(FrameSerial(5)), Time::from_ns(77));
        output.rendered(FrameSerial(4), Time::from_ns(77 + 1));
        assert_eq!(output.next_wake(), None);
        assert_eq!(presented(&mut output, Time::from_ns(77 + 500_000_000)), None);
        output.rendered(FrameSerial(5), Time::from_ns(77 + 31_000_000));
        assert_eq!(output.next_wake(), Some(Time::from_ns(77 + 40_000_000)));
    }

    #[test]
    fn frame_presented_on_a_refresh_waits_for_the_next() {
        let mut output = output("64x64@59.94");
        for refresh in [0, 1, 2, 3, 1000, 215_784_000] {
            let now = output.refresh_time(refresh);
            output.present(Content::ScannedOut, now);
            let at = output.next_wake().unwrap();
            let told = presented(&mut output, at).unwrap();
            assert_eq!(told.sequence, refresh + 1);
            assert!(told.time > now && told.zero_copy);
        }
    }

    #[test]
    fn refreshes_over_a_day_have_not_drifted() {
        let output = output("64x64@59.94");
        let day = Time::from_ns(77 + 86_400_000_000_000);
        assert_eq!(output.refresh_time(59_940 * 86_400 / 1000), day);
    }
}
