//! What one frame does: which texels are copied, which rectangles cleared or drawn, in which order.
//!
//! Made from the scene and its visible parts (`domain::visibility`); knows no command buffer and makes no object. All
//! storage is kept from frame to frame, and instances go straight into mapped memory. Next: `pass`, which records it.

use ash::vk;

use super::descriptor::Descriptors;
use super::geometry::Mapping;
use super::image::LAYER;
use super::pipeline::{Fill, Instance, Way};
use super::slab::Slab;
use super::texture::Texture;
use super::uploads::Upload;
use crate::domain::buffer::TextureId;
use crate::domain::geometry::Rect;
use crate::domain::region::Region;
use crate::domain::scene::{Color, Element, Paint, Scene};
use crate::domain::visibility::{Means, Visibility, unscaled_origin};

/// One thing to do while rendering, in order.
pub(super) enum Step {
    /// Draw instances, those from `first` on.
    Draw {
        /// With which pipeline.
        way: Way,
        /// The set that holds their textures; null for colours.
        set: vk::DescriptorSet,
        /// The first instance.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Fill clear rectangles, those from `first` on, with an opaque colour.
    Clear {
        /// The colour.
        color: Color,
        /// The first rectangle.
        first: usize,
        /// How many.
        count: usize,
    },
}

/// Copies with one source.
pub(super) struct CopyRun {
    /// Where the texels come from.
    pub(super) source: Source,
    /// The first region: of the buffer regions or the image regions, as the source is.
    pub(super) first: usize,
    /// How many.
    pub(super) count: usize,
}

/// Where copied texels come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Staging memory: the texels arrive with this very submission.
    Staged(vk::Buffer),
    /// A texture's image.
    Texture(vk::Image),
}

/// Elements, and rectangles of each kind, that there is storage for from the start.
const START_ROOM: usize = 1024;

/// One frame's work.
pub(super) struct Plan {
    visibility: Visibility,
    steps: Vec<Step>,
    clears: Vec<vk::ClearRect>,
    runs: Vec<CopyRun>,
    from_buffers: Vec<vk::BufferImageCopy2<'static>>,
    from_images: Vec<vk::ImageCopy2<'static>>,
    rest: Region,
    damage: Region,
    render_area: Rect,
    instances: u32,
    load: Load,
}

/// What happens to the target's old content where rendering begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Load {
    /// It stays.
    Keep,
    /// Every pixel is drawn over.
    Discard,
    /// Every pixel becomes this colour.
    Clear(Color),
}

/// What a plan needs to know of the renderer.
#[derive(Clone, Copy)]
pub(super) struct World<'a> {
    /// The textures.
    pub(super) textures: &'a Slab<Texture>,
    /// Their places.
    pub(super) descriptors: &'a Descriptors,
    /// Copies waiting for this submission.
    pub(super) uploads: &'a [Upload],
    /// Copies may replace draws.
    pub(super) transfers: bool,
    /// The target's pixels.
    pub(super) target: Rect,
    /// The target cannot be both copied to and drawn to in one frame.
    pub(super) all_or_nothing: bool,
}

impl Plan {
    /// With storage for scenes of the usual size, so that one which moves about finds no new maximum.
    pub(super) fn new() -> Self {
        Self {
            visibility: Visibility::with_capacity(START_ROOM),
            steps: Vec::with_capacity(START_ROOM),
            clears: Vec::with_capacity(START_ROOM),
            runs: Vec::with_capacity(START_ROOM),
            from_buffers: Vec::with_capacity(START_ROOM),
            from_images: Vec::with_capacity(START_ROOM),
            rest: Region::with_capacity(START_ROOM),
            damage: Region::with_capacity(START_ROOM),
            render_area: Rect::default(),
            instances: 0,
            load: Load::Keep,
        }
    }

    /// Decides what is copied and what is drawn; tells how many instances that takes at most.
    pub(super) fn decide(&mut self, scene: &Scene, damage: &Region, world: World<'_>) -> u64 {
        self.damage.copy_from(damage);
        self.damage.intersect(world.target);
        self.damage.intersect(Rect::from_size(scene.size()));
        self.visibility.compute(scene, &self.damage, |element| means(element, world));
        if world.all_or_nothing && self.visibility.draw_count() > 0 {
            self.visibility.draw_all();
        }
        (self.visibility.rect_count() + self.visibility.background().len()) as u64
    }

    /// Works the decision out, writing instances to `instances`.
    pub(super) fn work_out(&mut self, scene: &Scene, world: World<'_>, instances: &mut Instances<'_>) {
        self.steps.clear();
        self.clears.clear();
        self.runs.clear();
        self.from_buffers.clear();
        self.from_images.clear();
        self.instances = 0;
        let Self { visibility, .. } = self;
        let visibility = std::mem::take(visibility); // its parts are read while the lists are written
        for part in visibility.transfers() {
            self.transfer(&scene.elements()[part.index], part.rects, world);
        }
        self.render_area = self.damage.bounds();
        self.load = match self.damage.contains_rect(world.target) && visibility.transfer_count() == 0 {
            true if visibility.background().is_empty() => Load::Discard,
            true => Load::Clear(scene.background()),
            false => Load::Keep,
        };
        if self.load == Load::Keep {
            self.clear(scene.background(), visibility.background());
        }
        for part in visibility.draws() {
            let element = &scene.elements()[part.index];
            match element.paint {
                Paint::Solid(color) => self.solid(color, element.alpha, part.rects, instances),
                Paint::Texture { texture, .. } => {
                    self.texture(scene, element, texture, part.rects, world, instances);
                }
            }
        }
        self.visibility = visibility;
    }

    /// What to do while rendering, in order.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The rectangles that [`Step::Clear`] counts.
    pub(super) fn clears(&self) -> &[vk::ClearRect] {
        &self.clears
    }

    /// The copies to the target, by source.
    pub(super) fn runs(&self) -> &[CopyRun] {
        &self.runs
    }

    /// Regions of copies from staging memory.
    pub(super) fn buffer_copies(&self) -> &[vk::BufferImageCopy2<'static>] {
        &self.from_buffers
    }

    /// Regions of copies from textures.
    pub(super) fn image_copies(&self) -> &[vk::ImageCopy2<'static>] {
        &self.from_images
    }

    /// Elements copied instead of drawn.
    pub(super) fn transfer_count(&self) -> u64 {
        self.visibility.transfer_count() as u64
    }

    /// What of the target rendering touches.
    pub(super) fn render_area(&self) -> Rect {
        self.render_area
    }

    /// What happens to the target's old content there.
    pub(super) fn load(&self) -> Load {
        self.load
    }

    /// Whether there is anything to render.
    pub(super) fn renders(&self) -> bool {
        !self.steps.is_empty() || matches!(self.load, Load::Clear(_))
    }

    /// The textures that the frame reads and the stages that do, one for each time.
    pub(super) fn reads(&self, scene: &Scene) -> impl Iterator<Item = (TextureId, vk::PipelineStageFlags2)> {
        use vk::PipelineStageFlags2 as Stage;
        let copied = self.visibility.transfers().map(|part| (part.index, Stage::COPY));
        let drawn = self.visibility.draws().map(|part| (part.index, Stage::FRAGMENT_SHADER));
        copied.chain(drawn).filter_map(|(index, stage)| match scene.elements()[index].paint {
            Paint::Texture { texture, .. } => Some((texture, stage)),
            Paint::Solid(_) => None,
        })
    }

    /// Copies an element's visible rectangles: those texels that arrive with this submission from where they are
    /// staged, the others from the texture.
    fn transfer(&mut self, element: &Element, rects: &[Rect], world: World<'_>) {
        let Paint::Texture { texture: id, .. } = element.paint else { return };
        let (Some(origin), Some(texture)) = (unscaled_origin(element), world.textures.get(id.0)) else { return };
        let (dx, dy) = (element.dst.x - origin.x, element.dst.y - origin.y); // from texel to pixel
        for rect in rects {
            self.rest.set(Rect::new(rect.x - dx, rect.y - dy, rect.w, rect.h));
            if texture.staged > 0 {
                for upload in world.uploads.iter().filter(|upload| upload.texture == id) {
                    self.transfer_staged(upload, dx, dy);
                }
            }
            let source = Source::Texture(texture.image.raw());
            for from in self.rest.rects() {
                self.from_images.push(vk::ImageCopy2 {
                    src_subresource: LAYER,
                    src_offset: vk::Offset3D { x: from.x, y: from.y, z: 0 },
                    dst_subresource: LAYER,
                    dst_offset: vk::Offset3D { x: from.x + dx, y: from.y + dy, z: 0 },
                    extent: vk::Extent3D { width: from.w as u32, height: from.h as u32, depth: 1 },
                    ..Default::default()
                });
                extend(&mut self.runs, source, self.from_images.len());
            }
        }
    }

    fn transfer_staged(&mut self, upload: &Upload, dx: i32, dy: i32) {
        const TEXEL_BYTES: u64 = 4; // a target's, and so a transfer's
        let before = self.from_buffers.len();
        for part in self.rest.rects().iter().filter_map(|rect| rect.intersection(upload.rect)) {
            self.from_buffers.push(upload.region(part, TEXEL_BYTES, part.x + dx, part.y + dy));
            extend(&mut self.runs, Source::Staged(upload.buffer), self.from_buffers.len());
        }
        if self.from_buffers.len() > before {
            self.rest.subtract(upload.rect);
        }
    }

    fn solid(&mut self, color: Color, alpha: f32, rects: &[Rect], instances: &mut Instances<'_>) {
        let color = [color.r, color.g, color.b, color.a].map(|channel| (channel * alpha).clamp(0.0, 1.0));
        let [r, g, b, a] = color;
        if a >= 1.0 {
            self.clear(Color { r, g, b, a }, rects);
            return;
        }
        let way = Way { fill: Fill::Solid, blend: true };
        for &rect in rects {
            let instance = Instance { rect_px: [rect.x, rect.y, rect.w, rect.h], color, ..Instance::default() };
            self.draw(way, vk::DescriptorSet::null(), &instance, instances);
        }
    }

    fn texture(
        &mut self,
        scene: &Scene,
        element: &Element,
        id: TextureId,
        rects: &[Rect],
        world: World<'_>,
        instances: &mut Instances<'_>,
    ) {
        let Some(texture) = world.textures.get(id.0) else { return };
        let Some(map) = Mapping::new(element, texture.size) else { return };
        let set = world.descriptors.set(&texture.slot);
        let alpha = element.alpha.clamp(0.0, 1.0);
        let fill = if map.is_exact { Fill::Texel } else { Fill::Mixed };
        for &rect in rects {
            let opaque = alpha >= 1.0
                && (!texture.format.has_alpha || scene.opaque(element).iter().any(|part| part.contains_rect(rect)));
            let instance = Instance {
                rect_px: [rect.x, rect.y, rect.w, rect.h],
                origin_px: [element.dst.x, element.dst.y],
                texture: world.descriptors.index_in_set(&texture.slot),
                swap: u32::from(map.swap),
                map: map.map,
                bounds: map.bounds,
                color: [alpha; 4],
            };
            self.draw(Way { fill, blend: !opaque }, set, &instance, instances);
        }
    }

    fn draw(&mut self, way: Way, set: vk::DescriptorSet, instance: &Instance, instances: &mut Instances<'_>) {
        if !instances.write(self.instances, instance) {
            return;
        }
        match self.steps.last_mut() {
            Some(Step::Draw { way: w, set: s, count, .. }) if *w == way && *s == set => *count += 1,
            _ => self.steps.push(Step::Draw { way, set, first: self.instances, count: 1 }),
        }
        self.instances += 1;
    }

    fn clear(&mut self, color: Color, rects: &[Rect]) {
        let first = self.clears.len();
        self.clears.extend(rects.iter().map(|rect| vk::ClearRect {
            rect: vk::Rect2D {
                offset: vk::Offset2D { x: rect.x, y: rect.y },
                extent: super::image::extent(rect.size()),
            },
            base_array_layer: 0,
            layer_count: 1,
        }));
        let added = self.clears.len() - first;
        match self.steps.last_mut() {
            _ if added == 0 => {}
            Some(Step::Clear { color: c, count, .. }) if *c == color => *count += added,
            _ => self.steps.push(Step::Clear { color, first, count: added }),
        }
    }
}

/// Counts the newest region, whose list has `len` by now, to a run of its source.
fn extend(runs: &mut Vec<CopyRun>, source: Source, len: usize) {
    match runs.last_mut() {
        Some(run) if run.source == source && run.first + run.count + 1 == len => run.count += 1,
        _ => runs.push(CopyRun { source, first: len - 1, count: 1 }),
    }
}

/// By which means an element can come onto the target.
fn means(element: &Element, world: World<'_>) -> Means {
    let Paint::Texture { texture, source, .. } = element.paint else { return Means::Draw };
    let Some(texture) = world.textures.get(texture.0) else { return Means::Absent };
    let whole = Rect::from_size(texture.size);
    if Mapping::new(element, texture.size).is_none() {
        return Means::Absent;
    }
    let inside = source.as_integer().is_some_and(|source| whole.contains_rect(source));
    if world.transfers && texture.format.like_target && inside { Means::Transfer } else { Means::Draw }
}

/// Mapped memory for instances, written once from its start.
pub(super) struct Instances<'a> {
    to: &'a mut [std::mem::MaybeUninit<Instance>],
}

impl<'a> Instances<'a> {
    /// For a slot's buffer.
    pub(super) fn new(to: &'a mut [std::mem::MaybeUninit<Instance>]) -> Self {
        Self { to }
    }

    /// Writes the instance at `at`; false where there is no room, which `Plan::decide` said how much of is needed.
    fn write(&mut self, at: u32, instance: &Instance) -> bool {
        match self.to.get_mut(at as usize) {
            Some(to) => {
                to.write(*instance);
                true
            }
            None => {
                debug_assert!(false, "more instances than parts");
                false
            }
        }
    }
}
