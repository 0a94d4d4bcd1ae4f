//! The six ways to fill a rectangle, compiled at the start.
//!
//! Colour, texel or mixture of texels; replacing what is beneath or blended over it, premultiplied, in the encoded
//! space (the views are UNORM), as clients expect from every other compositor. Next: `plan`.

use std::io::Cursor;
use std::mem::offset_of;
use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::CallError;
use super::gpu::TARGET_FORMAT;
use super::owned::Owned;
use super::pipeline_cache::PipelineCache;

/// One rectangle for quad.vert, as the vertex input reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(super) struct Instance {
    /// x, y, width and height in physical pixels of the target.
    pub(super) rect_px: [i32; 4],
    /// The element's corner in physical pixels.
    pub(super) origin_px: [i32; 2],
    /// The texture's place in its array.
    pub(super) texture: u32,
    /// 1 where x and y change places.
    pub(super) swap: u32,
    /// Texels per pixel along u and v, then the texel at the corner.
    pub(super) map: [f32; 4],
    /// Centres of the first and of the last texel that may be read: u, v, u, v.
    pub(super) bounds: [f32; 4],
    /// A premultiplied colour, or what a texture is multiplied with.
    pub(super) color: [f32; 4],
}

/// Bytes of an [`Instance`].
pub(super) const INSTANCE_BYTES: u64 = size_of::<Instance>() as u64;

/// What fills a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// One colour.
    Solid,
    /// The texel whose area holds the point.
    Texel,
    /// A mixture of the four texels around the point.
    Mixed,
}

/// What a rectangle is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// What fills it.
    pub(super) fill: Fill,
    /// Over what is beneath, instead of replacing it.
    pub(super) blend: bool,
}

const FILLS: [Fill; 3] = [Fill::Solid, Fill::Texel, Fill::Mixed];
const WAYS: usize = FILLS.len() * 2;

impl Way {
    fn index(self) -> usize {
        self.fill as usize * 2 + usize::from(self.blend)
    }

    fn all() -> impl Iterator<Item = Self> {
        FILLS.into_iter().flat_map(|fill| [false, true].map(|blend| Self { fill, blend }))
    }
}

/// What all pipelines share: the layout and the shaders.
pub(super) struct Shaders {
    layout: Owned<vk::PipelineLayout>,
    quad: Owned<vk::ShaderModule>,
    solid: Owned<vk::ShaderModule>,
    texture: Owned<vk::ShaderModule>,
}

/// The compiled ways.
pub(super) struct Pipelines {
    ways: Vec<Owned<vk::Pipeline>>,
}

impl Shaders {
    /// For textures in sets of `set_layout`.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn new(device: &Arc<Device>, set_layout: vk::DescriptorSetLayout) -> Result<Self, CallError> {
        let sets = [set_layout];
        let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::VERTEX).size(8)];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&push);
        // SAFETY: the set layout is alive; 8 bytes are below any device's limit.
        let made = unsafe { device.raw().create_pipeline_layout(&info, Some(device.callbacks())) };
        let layout = Owned::new(device, "vkCreatePipelineLayout", made)?;
        let texture: &[u8] = match device.is_bindless() {
            true => include_bytes!("../../../resources/shaders/texture_bindless.frag.spv"),
            false => include_bytes!("../../../resources/shaders/texture.frag.spv"),
        };
        Ok(Self {
            layout,
            quad: module(device, "quad.vert", include_bytes!("../../../resources/shaders/quad.vert.spv"))?,
            solid: module(device, "solid.frag", include_bytes!("../../../resources/shaders/solid.frag.spv"))?,
            texture: module(device, "texture.frag", texture)?,
        })
    }

    /// The layout of every pipeline, not owned.
    pub(super) fn layout(&self) -> vk::PipelineLayout {
        self.layout.raw()
    }
}

fn module(device: &Arc<Device>, name: &str, spirv: &[u8]) -> Result<Owned<vk::ShaderModule>, CallError> {
    let words = ash::util::read_spv(&mut Cursor::new(spirv))
        .map_err(|_| CallError { call: "vkCreateShaderModule", result: vk::Result::ERROR_INVALID_SHADER_NV })?;
    let info = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the code was compiled for Vulkan 1.3 from resources/shaders, which a test keeps true.
    let made = unsafe { device.raw().create_shader_module(&info, Some(device.callbacks())) };
    Ok(Owned::new(device, "vkCreateShaderModule", made)?.named(name))
}

impl Pipelines {
    /// Compiles all ways.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn new(device: &Arc<Device>, shaders: &Shaders, cache: &mut PipelineCache) -> Result<Self, CallError> {
        let mut ways = Vec::with_capacity(WAYS);
        for way in Way::all() {
            ways.push(compile(device, shaders, cache, way)?);
        }
        cache.save();
        Ok(Self { ways })
    }

    /// The pipeline, not owned.
    pub(super) fn get(&self, way: Way) -> vk::Pipeline {
        self.ways[way.index()].raw() // one for each way (`new`)
    }
}

/// Where quad.vert finds an [`Instance`]'s parts.
fn attributes() -> [vk::VertexInputAttributeDescription; 5] {
    use vk::Format;
    let at = |location, format, offset: usize| vk::VertexInputAttributeDescription {
        location,
        binding: 0,
        format,
        offset: offset as u32,
    };
    [
        at(0, Format::R32G32B32A32_SINT, offset_of!(Instance, rect_px)),
        at(1, Format::R32G32B32A32_SINT, offset_of!(Instance, origin_px)),
        at(2, Format::R32G32B32A32_SFLOAT, offset_of!(Instance, map)),
        at(3, Format::R32G32B32A32_SFLOAT, offset_of!(Instance, bounds)),
        at(4, Format::R32G32B32A32_SFLOAT, offset_of!(Instance, color)),
    ]
}

fn compile(
    device: &Arc<Device>,
    shaders: &Shaders,
    cache: &PipelineCache,
    way: Way,
) -> Result<Owned<vk::Pipeline>, CallError> {
    let entries = [vk::SpecializationMapEntry { constant_id: 0, offset: 0, size: 4 }];
    let constants = u32::from(way.fill == Fill::Mixed).to_ne_bytes();
    let special = vk::SpecializationInfo::default().map_entries(&entries).data(&constants);
    let fragment = match way.fill {
        Fill::Solid => &shaders.solid,
        Fill::Texel | Fill::Mixed => &shaders.texture,
    };
    let stage = |stage, module: &Owned<vk::ShaderModule>| {
        vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module.raw()).name(c"main")
    };
    let stages = [
        stage(vk::ShaderStageFlags::VERTEX, &shaders.quad),
        stage(vk::ShaderStageFlags::FRAGMENT, fragment).specialization_info(&special),
    ];
    let bindings = [vk::VertexInputBindingDescription {
        binding: 0,
        stride: INSTANCE_BYTES as u32,
        input_rate: vk::VertexInputRate::INSTANCE,
    }];
    let attributes = attributes();
    let input = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(&bindings)
        .vertex_attribute_descriptions(&attributes);
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_STRIP);
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let samples = vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let blends = [vk::PipelineColorBlendAttachmentState::default()
        .blend_enable(way.blend)
        .src_color_blend_factor(vk::BlendFactor::ONE)
        .dst_color_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
        .src_alpha_blend_factor(vk::BlendFactor::ONE)
        .dst_alpha_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
        .color_write_mask(vk::ColorComponentFlags::RGBA)];
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
    let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
    let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
    let formats = [TARGET_FORMAT];
    let mut rendering = vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&input)
        .input_assembly_state(&assembly)
        .viewport_state(&viewport)
        .rasterization_state(&raster)
        .multisample_state(&samples)
        .color_blend_state(&blend)
        .dynamic_state(&dynamic)
        .layout(shaders.layout())
        .push_next(&mut rendering);
    // SAFETY: modules, layout and cache are alive, all pointers live across the call, and the format was checked to be
    // renderable with blending (`gpu::lacks`). One pipeline is asked for, so one comes back.
    let made = unsafe { device.raw().create_graphics_pipelines(cache.raw(), &[info], Some(device.callbacks())) };
    let one = made.map_err(|(_, result)| result).and_then(|all| all.first().copied().ok_or(vk::Result::ERROR_UNKNOWN));
    Ok(Owned::new(device, "vkCreateGraphicsPipelines", one)?.named("quad"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_have_each_an_index_of_their_own() {
        let indices: Vec<usize> = Way::all().map(Way::index).collect();
        assert_eq!(indices, (0..WAYS).collect::<Vec<_>>());
    }

    #[test]
    fn attributes_cover_the_instance_without_gaps() {
        let ends: Vec<u32> = attributes().iter().map(|a| a.offset).collect();
        assert_eq!(ends, [0, 16, 32, 48, 64]);
        assert_eq!(INSTANCE_BYTES, 80);
    }
}
