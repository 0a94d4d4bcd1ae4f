//! Targets: offscreen images and windows.

use std::rc::Rc;
use std::sync::Arc;

use ash::vk;

use super::Vulkan;
use super::gpu::TARGET_FORMAT;
use super::image::Image;
use super::pass::Canvas;
use super::retire::DeferredFree;
use super::surface::Surface;
use super::swapchain::Swapchain;
use crate::domain::frame::FrameSerial;
use crate::domain::geometry::Size;
use crate::ports::renderer::{self, Acquired, RenderError, TargetId};

/// What a scene is rendered onto.
pub(super) enum Target {
    /// An image.
    Offscreen(Offscreen),
    /// A window, by its swapchain.
    Window(Swapchain),
}

/// An image, in layout GENERAL after its first frame.
pub(super) struct Offscreen {
    image: Image,
    size: Size,
    /// Its content was rendered, and it has its layout; else both are undefined.
    rendered: bool,
    last_used: FrameSerial,
}

impl Target {
    /// As a frame meets it.
    ///
    /// # Errors
    /// [`RenderError::NotReady`] for a window that was not acquired.
    pub(super) fn canvas(&self) -> Result<Canvas, RenderError> {
        match self {
            Self::Offscreen(offscreen) => Ok(offscreen.canvas()),
            Self::Window(swapchain) => {
                let current = swapchain.current().ok_or(RenderError::NotReady)?;
                let layout = match current.age {
                    0 => vk::ImageLayout::UNDEFINED,
                    _ => vk::ImageLayout::PRESENT_SRC_KHR,
                };
                let size = swapchain.size();
                Ok(Canvas { image: current.image, view: current.view, size, layout, window: true })
            }
        }
    }
}

impl Offscreen {
    fn canvas(&self) -> Canvas {
        let layout = if self.rendered { vk::ImageLayout::GENERAL } else { vk::ImageLayout::UNDEFINED };
        Canvas { image: self.image.raw(), view: self.image.view(), size: self.size, layout, window: false }
    }

    /// The image, not owned, where its content is defined.
    pub(super) fn rendered_image(&self) -> Option<vk::Image> {
        self.rendered.then(|| self.image.raw())
    }

    /// Pixels.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// The submission `serial` renders to it.
    pub(super) fn rendered(&mut self, serial: FrameSerial) {
        self.captured(serial);
        self.rendered = true;
    }

    /// The submission `serial` reads it.
    pub(super) fn captured(&mut self, serial: FrameSerial) {
        self.last_used = serial;
    }
}

impl Vulkan {
    pub(super) fn offscreen(&mut self, size: Size) -> Result<TargetId, RenderError> {
        let offscreen = self.create_image(size)?;
        Ok(TargetId(self.targets.insert(Target::Offscreen(offscreen))))
    }

    fn create_image(&self, size: Size) -> Result<Offscreen, RenderError> {
        self.check_size(size)?;
        use vk::ImageUsageFlags as Usage;
        let usage = Usage::COLOR_ATTACHMENT | Usage::TRANSFER_SRC | Usage::TRANSFER_DST;
        let swizzle = vk::ComponentMapping::default();
        let image = Image::new(&self.device, &self.memory, size, TARGET_FORMAT, swizzle, usage, "target")
            .map_err(|error| error.into_render("device memory"))?;
        Ok(Offscreen { image, size, rendered: false, last_used: FrameSerial(0) })
    }

    fn check_size(&self, size: Size) -> Result<(), RenderError> {
        let max = self.capabilities.max_target_side;
        if size.is_empty() || size.w as u32 > max || size.h as u32 > max {
            return Err(RenderError::Unsupported(format!("a target of {}x{} pixels (at most {max})", size.w, size.h)));
        }
        Ok(())
    }

    pub(super) fn window(&mut self, window: Arc<dyn renderer::Window>, size: Size) -> Result<TargetId, RenderError> {
        self.check_size(size)?;
        let surface = Rc::new(Surface::new(self.device.instance(), window)?);
        let swapchain = Swapchain::new(&self.device, &surface, size, None)?;
        Ok(TargetId(self.targets.insert(Target::Window(swapchain))))
    }

    pub(super) fn resize(&mut self, id: TargetId, size: Size) -> Result<(), RenderError> {
        self.check_size(size)?;
        match self.targets.get(id.0).ok_or(RenderError::Unknown)? {
            Target::Offscreen(_) => {
                let fresh = self.create_image(size)?;
                if let Some(Target::Offscreen(target)) = self.targets.get_mut(id.0) {
                    let old = std::mem::replace(target, fresh);
                    self.retire_offscreen(old);
                }
            }
            Target::Window(swapchain) => {
                let fresh = Swapchain::new(&self.device, swapchain.surface(), size, Some(swapchain))?;
                if let Some(Target::Window(swapchain)) = self.targets.get_mut(id.0) {
                    let old = std::mem::replace(swapchain, fresh);
                    if let Some(unseen) = swapchain.keep(old) {
                        self.retire_swapchain(unseen);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn destroy(&mut self, id: TargetId) {
        match self.targets.remove(id.0) {
            Some(Target::Offscreen(offscreen)) => self.retire_offscreen(offscreen),
            Some(Target::Window(mut swapchain)) => {
                let shown = swapchain.let_go();
                self.retire_swapchain(swapchain);
                shown.into_iter().for_each(|shown| self.retire_swapchain(shown));
            }
            None => {}
        }
    }

    fn retire_offscreen(&mut self, old: Offscreen) {
        if old.last_used > self.submitter.completed() {
            self.retired.retire(old.last_used, DeferredFree::Target(old.image));
        }
    }

    /// Retires a window's images after a submission that follows everything they are used for: the last present, and
    /// an acquire that no frame waited for.
    pub(super) fn retire_swapchain(&mut self, old: Swapchain) {
        let unwaited =
            old.current().map(|current| (current.acquired, vk::PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT));
        match self.submitter.submit_mark(unwaited) {
            Ok(serial) => self.retired.retire(serial, DeferredFree::Swapchain(Box::new(old))),
            Err(error) => {
                tracing::debug!("waiting for a swapchain's last use: {error}");
                self.device.wait_idle(); // cold and rare: not even memory for an empty submission
            }
        }
    }

    pub(super) fn acquire_target(&mut self, id: TargetId) -> Result<Acquired, RenderError> {
        match self.targets.get_mut(id.0).ok_or(RenderError::Unknown)? {
            Target::Offscreen(target) => Ok(Acquired { size: target.size, age: u32::from(target.rendered) }),
            Target::Window(swapchain) => swapchain.acquire(),
        }
    }
}
