//! A swapchain: the images of a window, whose turn it is, and how old each one's content is.
//!
//! A driver's word that a swapchain is suboptimal makes a new one only where the window has another size: see [`Fit`].
//! Presenting never waits for the host: MAILBOX, else IMMEDIATE, and FIFO only where there is neither (pacing is the
//! output's). Acquiring does not wait either. All semaphores are made with the swapchain and go round:
//!
//! ```text
//! vkAcquireNextImage ── signals `spare`, then kept by the image it gave, whose old one becomes the spare
//! the frame's submit ── waits for the image's `acquired`, signals its `rendered`
//! vkQueuePresent     ── waits for `rendered`
//! ```
//!
//! An image comes back from acquiring only when its last presentation ended, and with it the submit that waited for its
//! old `acquired` and signalled its `rendered`: both are free again. Owner: `target`. A swapchain that no longer fits is
//! handed to its successor as `old` and kept by it until its own first presentation: until then the window shows an image
//! of the old one, which a Wayland host reads from memory that destroying would take away. Then it is retired.

use std::rc::Rc;
use std::sync::Arc;

use ash::{khr, vk};

use super::device::Device;
use super::error::CallError;
use super::gpu::TARGET_FORMAT;
use super::owned::Owned;
use super::surface::Surface;
use crate::domain::geometry::Size;
use crate::ports::renderer::{Acquired, RenderError};

/// One image of the window.
struct Image {
    /// Belongs to the swapchain.
    raw: vk::Image,
    view: Owned<vk::ImageView>,
    acquired: Owned<vk::Semaphore>,
    rendered: Owned<vk::Semaphore>,
    /// The presentation, counted from 1, that showed its content; 0 where it has none.
    presented: u64,
}

/// An acquired image, nothing of it owned.
#[derive(Clone, Copy)]
pub(super) struct Current {
    /// The image, in PRESENT_SRC layout, or UNDEFINED at age 0.
    pub(super) image: vk::Image,
    /// A view of it.
    pub(super) view: vk::ImageView,
    /// How many presentations ago its content was rendered; 0 where it is undefined.
    pub(super) age: u32,
    /// To be waited for by the submit, at the first stage that touches the image.
    pub(super) acquired: vk::Semaphore,
    /// To be signalled by the submit.
    pub(super) rendered: vk::Semaphore,
}

/// The one owner of a VkSwapchainKHR.
pub(super) struct Swapchain {
    raw: vk::SwapchainKHR,
    device: Arc<Device>,
    functions: khr::swapchain::Device,
    surface: Rc<Surface>,
    size: Size,
    images: Vec<Image>,
    spare: Owned<vk::Semaphore>,
    current: Option<usize>,
    presentations: u64,
    fit: Fit,
    /// The one whose image the window shows, until this one presents.
    predecessor: Option<Box<Self>>,
}

/// How the swapchain fits its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// As far as is known, well.
    Good,
    /// The driver says suboptimal though the size is right: another one would be no better.
    Accepted,
    /// Not: good for what is acquired, not for more.
    Stale,
}

impl Swapchain {
    /// Makes a swapchain of about `size` pixels: exactly that where the window system leaves it to the swapchain.
    /// `old`, which must present to the same surface, gives up its images and presents no more.
    ///
    /// # Errors
    /// [`RenderError::Unsupported`] where the window takes no XRGB8888, [`RenderError::NotReady`] while it has no
    /// pixels (minimised), and those of the failing call.
    pub(super) fn new(
        device: &Arc<Device>,
        surface: &Rc<Surface>,
        size: Size,
        old: Option<&Self>,
    ) -> Result<Self, RenderError> {
        let functions = device.swapchain().ok_or_else(|| unsupported("the device lacks VK_KHR_swapchain"))?.clone();
        let offer = Offer::ask(device, surface)?;
        let extent = offer.extent(size)?;
        let info = vk::SwapchainCreateInfoKHR::default()
            .surface(surface.raw())
            .min_image_count(offer.image_count())
            .image_format(TARGET_FORMAT)
            .image_color_space(vk::ColorSpaceKHR::SRGB_NONLINEAR)
            .image_extent(extent)
            .image_array_layers(1)
            .image_usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_DST)
            .image_sharing_mode(vk::SharingMode::EXCLUSIVE)
            .pre_transform(offer.capabilities.current_transform)
            .composite_alpha(offer.composite_alpha())
            .present_mode(offer.mode)
            .clipped(true)
            .old_swapchain(old.map_or(vk::SwapchainKHR::null(), |old| old.raw));
        let spare = semaphore(device).map_err(|e| e.into_render("semaphores"))?;
        // SAFETY: every value is one that the surface offered; `old` is a swapchain of the same surface; the callbacks
        // outlive the device.
        let made = unsafe { functions.create_swapchain(&info, Some(device.callbacks())) };
        let raw = device.check("vkCreateSwapchainKHR", made).map_err(|e| e.into_render("swapchains"))?;
        device.counts().create(1);
        // From here on it has its owner, which drops it with whatever `fill` made.
        let mut this = Self {
            raw,
            device: Arc::clone(device),
            functions,
            surface: Rc::clone(surface),
            size: Size::new(extent.width as i32, extent.height as i32),
            images: Vec::new(),
            spare,
            current: None,
            presentations: 0,
            fit: Fit::Good,
            predecessor: None,
        };
        this.fill().map_err(|e| e.into_render("swapchain images"))?;
        tracing::debug!(size = ?this.size, images = this.images.len(), mode = offer.mode.as_raw(), "swapchain made");
        Ok(this)
    }

    /// Takes stock of the images and makes what goes with each.
    fn fill(&mut self) -> Result<(), CallError> {
        // SAFETY: the swapchain is alive.
        let images = unsafe { self.functions.get_swapchain_images(self.raw) };
        let images = self.device.check("vkGetSwapchainImagesKHR", images)?;
        for image in images {
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(TARGET_FORMAT)
                .subresource_range(
                    vk::ImageSubresourceRange::default()
                        .aspect_mask(vk::ImageAspectFlags::COLOR)
                        .level_count(1)
                        .layer_count(1),
                );
            // SAFETY: the image is the swapchain's, of this format; made with the callbacks that `Owned` destroys with.
            let view = unsafe { self.device.raw().create_image_view(&info, Some(self.device.callbacks())) };
            let view = Owned::new(&self.device, "vkCreateImageView", view)?.named("window");
            let (acquired, rendered) = (semaphore(&self.device)?, semaphore(&self.device)?);
            self.images.push(Image { raw: image, view, acquired, rendered, presented: 0 });
        }
        Ok(())
    }

    /// Keeps the one that it was made from, or, where that one presented nothing and keeps what the window shows, keeps
    /// this instead and gives `old` back.
    pub(super) fn keep(&mut self, old: Self) -> Option<Self> {
        let mut old = old;
        match old.predecessor.take() {
            Some(shown) => {
                self.predecessor = Some(shown);
                Some(old)
            }
            None => {
                self.predecessor = Some(Box::new(old));
                None
            }
        }
    }

    /// The one kept, where nothing of it is shown any more, or nothing of this one will be.
    pub(super) fn let_go(&mut self) -> Option<Self> {
        self.predecessor.take().map(|old| *old)
    }

    /// Its size in pixels.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// What it presents to, for its successor.
    pub(super) fn surface(&self) -> &Rc<Surface> {
        &self.surface
    }

    /// Takes the next image, without waiting; the one taken and not presented, where there is one.
    ///
    /// # Errors
    /// [`RenderError::OutOfDate`], [`RenderError::NotReady`], [`RenderError::SurfaceLost`],
    /// [`RenderError::DeviceLost`].
    pub(super) fn acquire(&mut self) -> Result<Acquired, RenderError> {
        if self.current.is_none() {
            self.current = Some(self.acquire_next()?);
        }
        let age = self.current().map_or(0, |current| current.age);
        Ok(Acquired { size: self.size, age })
    }

    fn acquire_next(&mut self) -> Result<usize, RenderError> {
        if self.fit == Fit::Stale {
            return Err(RenderError::OutOfDate);
        }
        // SAFETY: the spare semaphore is unsignalled and nothing waits for it (see the module's docs).
        let next = unsafe { self.functions.acquire_next_image(self.raw, 0, self.spare.raw(), vk::Fence::null()) };
        let (index, suboptimal) =
            self.device.check("vkAcquireNextImageKHR", next).map_err(|e| e.into_render("swapchain images"))?;
        self.judge(suboptimal);
        let index = index as usize;
        let Some(image) = self.images.get_mut(index) else { return Err(RenderError::OutOfDate) };
        std::mem::swap(&mut image.acquired, &mut self.spare);
        Ok(index)
    }

    /// Takes in that the driver says suboptimal, or not.
    fn judge(&mut self, suboptimal: bool) {
        let fit = self.fit.judged(suboptimal, || {
            // Where it cannot be asked, a new swapchain tells why.
            Offer::ask(&self.device, &self.surface).and_then(|o| o.extent(self.size)).is_ok_and(|e| self.is_of(e))
        });
        if fit != self.fit {
            tracing::debug!(?fit, "the swapchain is suboptimal");
            self.fit = fit;
        }
    }

    fn is_of(&self, extent: vk::Extent2D) -> bool {
        self.size == Size::new(extent.width as i32, extent.height as i32)
    }

    /// The acquired image.
    pub(super) fn current(&self) -> Option<Current> {
        let image = &self.images[self.current?];
        let age = match image.presented {
            0 => 0,
            presented => u32::try_from(self.presentations - presented + 1).unwrap_or(0),
        };
        Some(Current {
            image: image.raw,
            view: image.view.raw(),
            age,
            acquired: image.acquired.raw(),
            rendered: image.rendered.raw(),
        })
    }

    /// Presents the acquired image, whose submit was made. Nothing happens where none is acquired.
    ///
    /// # Errors
    /// [`RenderError::SurfaceLost`], [`RenderError::DeviceLost`]. A swapchain that no longer fits is not an error here:
    /// the next [`Swapchain::acquire`] tells.
    pub(super) fn present(&mut self) -> Result<(), RenderError> {
        let Some(index) = self.current.take() else { return Ok(()) };
        let image = &mut self.images[index];
        let (waits, swapchains, indices) = ([image.rendered.raw()], [self.raw], [index as u32]);
        let info =
            vk::PresentInfoKHR::default().wait_semaphores(&waits).swapchains(&swapchains).image_indices(&indices);
        // SAFETY: the image is acquired and in PRESENT_SRC layout once `rendered` is signalled, which a submit made
        // before this will do; the queue is used by this thread alone.
        let presented = unsafe { self.functions.queue_present(self.device.queue(), &info) };
        self.presentations += 1;
        image.presented = self.presentations;
        match self.device.check("vkQueuePresentKHR", presented).map_err(|e| e.into_render("presentation")) {
            Ok(suboptimal) => self.judge(suboptimal),
            Err(RenderError::OutOfDate) => self.fit = Fit::Stale,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Fit {
    /// After a call said suboptimal, or not. Whether the window has the swapchain's size is asked once: a driver may say
    /// suboptimal for as long as the window lives, and a window that changes later is told of by its events.
    fn judged(self, suboptimal: bool, same_size: impl FnOnce() -> bool) -> Self {
        match self {
            Self::Good if suboptimal && same_size() => Self::Accepted,
            Self::Good if suboptimal => Self::Stale,
            same => same,
        }
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        self.images.clear(); // the views go before their images
        // SAFETY: retired behind a completed submission, or the device is idle: no image is in use; made with these
        // callbacks.
        unsafe { self.functions.destroy_swapchain(self.raw, Some(self.device.callbacks())) };
        self.device.counts().destroy(1);
    }
}

fn semaphore(device: &Arc<Device>) -> Result<Owned<vk::Semaphore>, CallError> {
    let info = vk::SemaphoreCreateInfo::default();
    // SAFETY: made with the callbacks that `Owned` destroys with.
    let made = unsafe { device.raw().create_semaphore(&info, Some(device.callbacks())) };
    Ok(Owned::new(device, "vkCreateSemaphore", made)?.named("window turn"))
}

fn unsupported(what: &str) -> RenderError {
    RenderError::Unsupported(what.to_owned())
}

/// What a surface offers a device.
struct Offer {
    capabilities: vk::SurfaceCapabilitiesKHR,
    mode: vk::PresentModeKHR,
}

impl Offer {
    fn ask(device: &Device, surface: &Surface) -> Result<Self, RenderError> {
        let functions = surface.functions().ok_or_else(|| unsupported("the instance lacks VK_KHR_surface"))?;
        let (gpu, raw) = (device.gpu().raw, surface.raw());
        let failed = |call| move |result| CallError { call, result }.into_render("surface queries");
        // SAFETY: the device and the surface are the same instance's, alive; so in the three calls below.
        let presents = unsafe { functions.get_physical_device_surface_support(gpu, device.gpu().family, raw) }
            .map_err(failed("vkGetPhysicalDeviceSurfaceSupportKHR"))?;
        if !presents {
            return Err(unsupported("this device presents nothing to this window"));
        }
        // SAFETY: as above.
        let formats = unsafe { functions.get_physical_device_surface_formats(gpu, raw) }
            .map_err(failed("vkGetPhysicalDeviceSurfaceFormatsKHR"))?;
        let fits =
            |f: &vk::SurfaceFormatKHR| f.format == TARGET_FORMAT && f.color_space == vk::ColorSpaceKHR::SRGB_NONLINEAR;
        if !formats.iter().any(fits) {
            return Err(unsupported("the window takes no 8-bit BGRA in sRGB"));
        }
        // SAFETY: as above.
        let modes = unsafe { functions.get_physical_device_surface_present_modes(gpu, raw) }
            .map_err(failed("vkGetPhysicalDeviceSurfacePresentModesKHR"))?;
        // SAFETY: as above.
        let capabilities = unsafe { functions.get_physical_device_surface_capabilities(gpu, raw) }
            .map_err(failed("vkGetPhysicalDeviceSurfaceCapabilitiesKHR"))?;
        if !capabilities.supported_usage_flags.contains(vk::ImageUsageFlags::TRANSFER_DST) {
            return Err(unsupported("the window's images cannot be copied to"));
        }
        Ok(Self { capabilities, mode: best_mode(&modes) })
    }

    fn extent(&self, wanted: Size) -> Result<vk::Extent2D, RenderError> {
        let (current, min, max) =
            (self.capabilities.current_extent, self.capabilities.min_image_extent, self.capabilities.max_image_extent);
        let extent = if current.width == u32::MAX {
            let clamp = |v: i32, low: u32, high: u32| u32::try_from(v).unwrap_or(0).min(high).max(low);
            vk::Extent2D {
                width: clamp(wanted.w, min.width, max.width),
                height: clamp(wanted.h, min.height, max.height),
            }
        } else {
            current
        };
        if extent.width == 0 || extent.height == 0 { Err(RenderError::NotReady) } else { Ok(extent) }
    }

    /// One to show, one on its way, one to render to, whatever the host still holds beside.
    fn image_count(&self) -> u32 {
        let wanted = self.capabilities.min_image_count.max(3);
        match self.capabilities.max_image_count {
            0 => wanted,
            max => wanted.min(max),
        }
    }

    fn composite_alpha(&self) -> vk::CompositeAlphaFlagsKHR {
        let there = self.capabilities.supported_composite_alpha;
        [vk::CompositeAlphaFlagsKHR::OPAQUE, vk::CompositeAlphaFlagsKHR::INHERIT]
            .into_iter()
            .find(|alpha| there.contains(*alpha))
            .unwrap_or(vk::CompositeAlphaFlagsKHR::PRE_MULTIPLIED)
    }
}

/// The first mode that does not wait for the host; FIFO is always there.
fn best_mode(modes: &[vk::PresentModeKHR]) -> vk::PresentModeKHR {
    [vk::PresentModeKHR::MAILBOX, vk::PresentModeKHR::IMMEDIATE]
        .into_iter()
        .find(|mode| modes.contains(mode))
        .unwrap_or(vk::PresentModeKHR::FIFO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(current: u32, max_images: u32) -> Offer {
        let extent = |side| vk::Extent2D { width: side, height: side };
        let capabilities = vk::SurfaceCapabilitiesKHR::default()
            .current_extent(extent(current))
            .min_image_extent(extent(1))
            .max_image_extent(extent(4096))
            .min_image_count(2)
            .max_image_count(max_images);
        Offer { capabilities, mode: vk::PresentModeKHR::FIFO }
    }

    #[test]
    fn mode_where_the_host_offers_one_without_waiting_is_that() {
        use vk::PresentModeKHR as Mode;
        assert!(best_mode(&[Mode::FIFO, Mode::IMMEDIATE, Mode::MAILBOX]) == Mode::MAILBOX);
        assert!(best_mode(&[Mode::FIFO, Mode::IMMEDIATE]) == Mode::IMMEDIATE);
        assert!(best_mode(&[Mode::FIFO]) == Mode::FIFO);
    }

    #[test]
    fn suboptimal_at_the_same_size_is_accepted_once_and_for_all() {
        let storm = (0..100).fold(Fit::Good, |fit, n| {
            fit.judged(n % 3 != 2, || {
                assert_eq!(n, 0, "asked once");
                true
            })
        });
        assert_eq!(storm, Fit::Accepted);
        assert_eq!(Fit::Good.judged(false, || panic!("nothing to ask")), Fit::Good);
    }

    #[test]
    fn suboptimal_at_another_size_is_stale_and_stays_so() {
        let fit = Fit::Good.judged(true, || false);
        assert_eq!(fit, Fit::Stale);
        assert_eq!(fit.judged(false, || true), Fit::Stale);
        assert_eq!(fit.judged(true, || true), Fit::Stale);
    }

    #[test]
    fn extent_that_the_window_leaves_open_is_the_one_wanted_within_its_limits() {
        let extent = |offer: Offer, w, h| offer.extent(Size::new(w, h)).map(|e| (e.width, e.height));
        assert_eq!(extent(offer(u32::MAX, 0), 640, 9000).unwrap(), (640, 4096));
        assert_eq!(extent(offer(u32::MAX, 0), -3, 0).unwrap(), (1, 1));
        assert_eq!(extent(offer(300, 0), 640, 480).unwrap(), (300, 300));
        assert!(matches!(extent(offer(0, 0), 640, 480), Err(RenderError::NotReady)));
    }

    #[test]
    fn image_count_stays_within_what_the_window_takes() {
        assert_eq!((offer(1, 0).image_count(), offer(1, 2).image_count()), (3, 2));
    }
}
