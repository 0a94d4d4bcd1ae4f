//! Screenshots, without holding the loop up: the GPU copies, a thread composes and encodes, the answer goes out when it
//! is there.
//!
//! What an output's target shows is copied from it. Where there is nothing to copy (the output is a window, or scans a
//! client out) its scene is rendered once more, onto an offscreen target that lives as long as the copy. At most
//! [`MAX_JOBS`] pictures are made at a time.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, mpsc};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Compositor;
use super::picture::{self, Layout, View};
use super::screen::Screen;
use crate::adapters::ipc::protocol::{Answer, Reply, Screenshot};
use crate::adapters::ipc::server::PeerId;
use crate::adapters::wayland::State;
use crate::adapters::wayland::upload::DeviceLost;
use crate::domain::frame::Time;
use crate::domain::geometry::{Rect, Size};
use crate::domain::output::OutputId;
use crate::domain::region::Region;
use crate::domain::scene::{Color, Scene};
use crate::ports::renderer::{CaptureId, Pixels, RenderError, Renderer, TargetId};

/// Pictures in the making.
const MAX_JOBS: usize = 4;

/// One output's part in a picture.
#[derive(Debug)]
struct Shot {
    output: OutputId,
    capture: CaptureId,
    /// Made for it, and destroyed with it.
    temporary: Option<TargetId>,
    pixels: Option<Pixels>,
}

/// One picture that the GPU copies.
#[derive(Debug)]
struct Job {
    peer: PeerId,
    views: Vec<View>,
    layout: Layout,
    part: Rect,
    shots: Vec<Shot>,
}

/// A picture, encoded.
type Encoded = (PeerId, Result<(Size, Vec<u8>), String>);

/// Where threads leave what they encoded.
#[derive(Debug)]
struct Desk {
    bell: Arc<EventFd>,
    sender: mpsc::Sender<Encoded>,
    receiver: mpsc::Receiver<Encoded>,
}

/// All pictures in the making.
#[derive(Debug, Default)]
pub(super) struct Captures {
    copying: Vec<Job>,
    encoding: usize,
    /// Made with the first one.
    desk: Option<Desk>,
    scene: Scene,
}

impl Captures {
    /// Readable when a picture is encoded.
    pub(super) fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.desk.as_ref().map(|desk| desk.bell.as_fd())
    }

    fn desk(&mut self) -> Result<&Desk, String> {
        if self.desk.is_none() {
            let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .map_err(|error| format!("no event descriptor: {error}"))?;
            let (sender, receiver) = mpsc::channel();
            self.desk = Some(Desk { bell: Arc::new(bell), sender, receiver });
        }
        self.desk.as_ref().ok_or_else(String::new)
    }
}

impl Compositor {
    /// Begins a picture for a peer of the control socket, who is answered when it is done.
    ///
    /// # Errors
    /// Why there will be none, for people.
    pub(super) fn begin_capture(
        &mut self,
        peer: PeerId,
        output: Option<&str>,
        part: Option<Rect>,
        now: Time,
    ) -> Result<(), String> {
        if self.captures.copying.len() + self.captures.encoding >= MAX_JOBS {
            return Err(format!("{MAX_JOBS} pictures are in the making already: try again"));
        }
        let had_desk = self.captures.desk.is_some();
        self.captures.desk()?;
        if !had_desk {
            self.watch_pictures();
        }
        let wanted = |screen: &&Screen| output.is_none_or(|name| screen.output.info().name == name);
        let views: Vec<View> = self.screens.iter().filter(wanted).filter_map(|screen| self.view(screen)).collect();
        if views.is_empty() {
            let names: Vec<_> = self.screens.iter().map(|screen| screen.output.info().name.as_str()).collect();
            return Err(format!("no output {}; there are: {}", output.unwrap_or_default(), names.join(", ")));
        }
        let layout = picture::lay_out(&views).map_err(|error| error.to_string())?;
        let part = layout.part(part).map_err(|error| error.to_string())?;
        let Some(renderer) = &mut self.renderer else { return Err("the device was lost: try again".to_owned()) };
        let mut shots = Vec::with_capacity(views.len());
        let background = self.config.desktop.background;
        for screen in self.screens.iter_mut().filter(|screen| wanted(&&**screen)) {
            let scene = &mut self.captures.scene;
            match begin_shot(screen, &mut self.server.state, &mut **renderer, scene, background) {
                Ok(shot) => shots.push(shot),
                Err(error) => {
                    shots.iter().for_each(|shot| drop_shot(shot, &mut **renderer));
                    let why = format!("{}: {}", screen.output.info().name, with_causes(&error));
                    if matches!(error, RenderError::DeviceLost) {
                        self.lose_renderer(now);
                    }
                    return Err(why);
                }
            }
        }
        self.captures.copying.push(Job { peer, views, layout, part, shots });
        self.collect_captures(now);
        Ok(())
    }

    fn view(&self, screen: &Screen) -> Option<View> {
        let placement = self.server.state.core.outputs.get(screen.id)?.placement;
        Some(View {
            logical: placement.logical_rect(),
            scale: placement.scale,
            transform: placement.transform,
            size: placement.mode_size,
        })
    }

    /// Takes the pixels that arrived; a picture that has all of its own goes to a thread.
    pub(super) fn collect_captures(&mut self, now: Time) {
        let mut index = 0;
        while index < self.captures.copying.len() {
            let Some(renderer) = &mut self.renderer else { return };
            let job = &mut self.captures.copying[index];
            match collect(job, &mut **renderer) {
                Ok(false) => index += 1,
                Ok(true) => {
                    let job = self.captures.copying.swap_remove(index);
                    self.encode(job, now);
                }
                Err(RenderError::DeviceLost) => return self.lose_renderer(now),
                Err(error) => {
                    job.shots.iter().for_each(|shot| drop_shot(shot, &mut **renderer));
                    let peer = self.captures.copying.swap_remove(index).peer;
                    self.answer(peer, Err(with_causes(&error)), now);
                }
            }
        }
    }

    fn encode(&mut self, job: Job, now: Time) {
        let peer = job.peer;
        let started = self.captures.desk().and_then(|desk| {
            let (sender, bell) = (desk.sender.clone(), desk.bell.clone());
            let work = move || {
                let Job { peer, views, layout, part, shots } = job;
                let pixels: Vec<Pixels> = shots.into_iter().filter_map(|shot| shot.pixels).collect();
                let rgb = layout.compose(&views, &pixels, part);
                let file = picture::encode(part.size(), &rgb).map_err(|error| with_causes(&error));
                // Neither fails but where the compositor is gone.
                let _ = sender.send((peer, file.map(|file| (part.size(), file))));
                let _ = bell.write(1);
            };
            let thread = std::thread::Builder::new().name("picture".to_owned());
            thread.spawn(work).map_err(|error| format!("no thread for the picture: {error}"))
        });
        match started {
            Ok(_) => self.captures.encoding += 1,
            Err(why) => self.answer(peer, Err(why), now),
        }
    }

    /// Answers those whose pictures are encoded.
    pub(super) fn answer_captures(&mut self, now: Time) {
        let Some(desk) = &self.captures.desk else { return };
        // Only its readability matters, and it may not be set.
        let _ = desk.bell.read();
        while let Some((peer, result)) = self.captures.desk.as_ref().and_then(|desk| desk.receiver.try_recv().ok()) {
            self.captures.encoding = self.captures.encoding.saturating_sub(1);
            match result {
                Ok((size, file)) => {
                    let (width, height) = (size.w as u32, size.h as u32);
                    let reply = Reply::Screenshot(Screenshot { width, height, png_bytes: file.len() as u64 });
                    if let Some(control) = &mut self.control {
                        control.answer(peer, &Answer::Ok(reply), &file, now);
                    }
                }
                Err(why) => self.answer(peer, Err(why), now),
            }
        }
    }

    /// No picture that the GPU copies will be made. Their targets went with the renderer.
    pub(super) fn fail_captures(&mut self, why: &str, now: Time) {
        for job in std::mem::take(&mut self.captures.copying) {
            self.answer(job.peer, Err(why.to_owned()), now);
        }
    }

    /// No picture of this output will be made.
    pub(super) fn fail_captures_of(&mut self, output: OutputId, now: Time) {
        let of_it = |job: &mut Job| job.shots.iter().any(|shot| shot.output == output);
        let failed: Vec<Job> = self.captures.copying.extract_if(.., of_it).collect();
        for job in failed {
            if let Some(renderer) = &mut self.renderer {
                job.shots.iter().for_each(|shot| drop_shot(shot, &mut **renderer));
            }
            self.answer(job.peer, Err("the output is gone".to_owned()), now);
        }
    }
}

fn begin_shot(
    screen: &mut Screen,
    state: &mut State,
    renderer: &mut dyn Renderer,
    scene: &mut Scene,
    background: Color,
) -> Result<Shot, RenderError> {
    let output = screen.id;
    if let Some(target) = screen.output.capture_target().filter(|_| screen.target_is_current) {
        let capture = renderer.capture(target, Rect::from_size(screen.scene.size()))?;
        return Ok(Shot { output, capture, temporary: None, pixels: None });
    }
    state.latch(output, &screen.tracker, background, scene);
    state.upload(output, renderer, scene).map_err(|DeviceLost| RenderError::DeviceLost)?;
    let target = renderer.create_offscreen(scene.size())?;
    let mut all = Region::new();
    all.set(Rect::from_size(scene.size()));
    let capture = renderer
        .acquire(target)
        .and_then(|_| state.render(output, renderer, target, scene, &all))
        .and_then(|_| renderer.capture(target, Rect::from_size(scene.size())));
    match capture {
        Ok(capture) => Ok(Shot { output, capture, temporary: Some(target), pixels: None }),
        Err(error) => {
            renderer.destroy_target(target);
            Err(error)
        }
    }
}

/// True once every pixel is there.
fn collect(job: &mut Job, renderer: &mut dyn Renderer) -> Result<bool, RenderError> {
    for shot in job.shots.iter_mut().filter(|shot| shot.pixels.is_none()) {
        shot.pixels = renderer.take_capture(shot.capture)?;
        if shot.pixels.is_some() {
            drop_shot(shot, renderer);
            shot.temporary = None;
        }
    }
    Ok(job.shots.iter().all(|shot| shot.pixels.is_some()))
}

/// A copy still under way is the renderer's to end.
fn drop_shot(shot: &Shot, renderer: &mut dyn Renderer) {
    if let Some(target) = shot.temporary {
        renderer.destroy_target(target);
    }
}

/// An error with what caused it, on one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
