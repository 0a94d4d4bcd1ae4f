//! Where shaders find textures: sets of one array each, or of one texture each, by the same code.
//!
//! A [`Slot`] is a texture's place in a set. Where the device has descriptor indexing a set holds [`ARRAY_LEN`]
//! textures and is bound once for all of them; where not, a set holds one. A descriptor is written when its texture is
//! made and never again: a frame writes none. Slots of retired textures come back through `retire`, so a slot that is
//! handed out is read by no frame in flight. Pools are added as textures come and go when they are empty, except the
//! last, which is made at the start: the baseline is the same before the first client and after the last.

use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::CallError;
use super::owned::Owned;

/// Textures in the array of a set.
pub(super) const ARRAY_LEN: u32 = 4096;
/// Sets in a pool where each holds one texture.
const SINGLE_SETS: u32 = 256;

/// A texture's place; given back by [`Descriptors::give`].
#[derive(Debug)]
pub(super) struct Slot {
    pool: u32,
    index: u32,
}

/// All pools.
pub(super) struct Descriptors {
    device: Arc<Device>,
    layout: Owned<vk::DescriptorSetLayout>,
    // Immutable in the layout.
    _sampler: Owned<vk::Sampler>,
    pools: Vec<Option<Pool>>,
    sets_per_pool: u32,
    textures_per_set: u32,
    writes: u64,
}

struct Pool {
    _pool: Owned<vk::DescriptorPool>,
    sets: Vec<vk::DescriptorSet>,
    free: Vec<u32>,
}

impl Descriptors {
    /// With one pool.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, CallError> {
        let (sets_per_pool, textures_per_set) = if device.is_bindless() { (1, ARRAY_LEN) } else { (SINGLE_SETS, 1) };
        let sampler = create_sampler(device)?;
        let layout = create_layout(device, sampler.raw(), textures_per_set)?;
        let mut this = Self {
            device: Arc::clone(device),
            layout,
            _sampler: sampler,
            pools: Vec::new(),
            sets_per_pool,
            textures_per_set,
            writes: 0,
        };
        let pool = this.create_pool()?;
        this.pools.push(Some(pool));
        Ok(this)
    }

    /// The layout of every set, not owned.
    pub(super) fn layout(&self) -> vk::DescriptorSetLayout {
        self.layout.raw()
    }

    /// Descriptors written since start.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// A slot that shows `view`, in layout GENERAL.
    ///
    /// # Errors
    /// The failing call, where a pool had to be added.
    pub(super) fn take(&mut self, view: vk::ImageView) -> Result<Slot, CallError> {
        let with_room = |pool: &Option<Pool>| pool.as_ref().is_some_and(|pool| !pool.free.is_empty());
        let at = match self.pools.iter().position(with_room) {
            Some(at) => at,
            None => {
                let pool = self.create_pool()?;
                match self.pools.iter().position(Option::is_none) {
                    Some(at) => {
                        self.pools[at] = Some(pool);
                        at
                    }
                    None => {
                        self.pools.push(Some(pool));
                        self.pools.len() - 1
                    }
                }
            }
        };
        let index = self.pools[at].as_mut().and_then(|pool| pool.free.pop());
        let index = index.ok_or(CallError { call: "vkAllocateDescriptorSets", result: vk::Result::ERROR_UNKNOWN })?;
        let slot = Slot { pool: at as u32, index };
        self.write(&slot, view);
        Ok(slot)
    }

    fn write(&mut self, slot: &Slot, view: vk::ImageView) {
        let images = [vk::DescriptorImageInfo::default().image_view(view).image_layout(vk::ImageLayout::GENERAL)];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(self.set(slot))
            .dst_binding(1)
            .dst_array_element(self.index_in_set(slot))
            .descriptor_type(vk::DescriptorType::SAMPLED_IMAGE)
            .image_info(&images);
        // SAFETY: set and view are alive, and no frame in flight reads this slot (the module's docs); in an array that
        // frames are reading the others of, UPDATE_UNUSED_WHILE_PENDING allows the write.
        unsafe { self.device.raw().update_descriptor_sets(&[write], &[]) };
        self.writes += 1;
    }

    /// The set to bind, not owned.
    pub(super) fn set(&self, slot: &Slot) -> vk::DescriptorSet {
        let pool = self.pools.get(slot.pool as usize).and_then(Option::as_ref);
        // A pool lives while one of its slots is out (`give`), and has a set for each of its slots (`create_pool`).
        pool.map_or(vk::DescriptorSet::null(), |pool| pool.sets[(slot.index / self.textures_per_set) as usize])
    }

    /// The texture's place in the set's array.
    pub(super) fn index_in_set(&self, slot: &Slot) -> u32 {
        slot.index % self.textures_per_set
    }

    /// Takes back a slot that no frame reads any more.
    pub(super) fn give(&mut self, slot: Slot) {
        let slots = (self.sets_per_pool * self.textures_per_set) as usize;
        let pools = self.pools.iter().flatten().count();
        let Some(place) = self.pools.get_mut(slot.pool as usize) else { return };
        let Some(pool) = place else { return };
        pool.free.push(slot.index); // within the capacity reserved for every slot
        if pool.free.len() == slots && pools > 1 {
            *place = None;
        }
    }

    fn create_pool(&self) -> Result<Pool, CallError> {
        let slots = self.sets_per_pool * self.textures_per_set;
        let size = |ty, descriptor_count| vk::DescriptorPoolSize { ty, descriptor_count };
        let sizes =
            [size(vk::DescriptorType::SAMPLER, self.sets_per_pool), size(vk::DescriptorType::SAMPLED_IMAGE, slots)];
        let mut info = vk::DescriptorPoolCreateInfo::default().max_sets(self.sets_per_pool).pool_sizes(&sizes);
        if self.device.is_bindless() {
            info = info.flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND);
        }
        // SAFETY: the sizes are within the limits that `gpu` checked for arrays, and small without.
        let made = unsafe { self.device.raw().create_descriptor_pool(&info, Some(self.device.callbacks())) };
        let pool = Owned::new(&self.device, "vkCreateDescriptorPool", made)?.named("textures");
        let layouts = vec![self.layout.raw(); self.sets_per_pool as usize];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool.raw()).set_layouts(&layouts);
        // SAFETY: the pool is new and has room for exactly these sets; they are freed with it.
        let sets = unsafe { self.device.raw().allocate_descriptor_sets(&info) };
        let sets = self.device.check("vkAllocateDescriptorSets", sets)?;
        Ok(Pool { _pool: pool, sets, free: (0..slots).rev().collect() })
    }
}

fn create_sampler(device: &Arc<Device>) -> Result<Owned<vk::Sampler>, CallError> {
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(vk::Filter::LINEAR)
        .min_filter(vk::Filter::LINEAR)
        .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
        .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
        .address_mode_w(vk::SamplerAddressMode::CLAMP_TO_EDGE);
    // SAFETY: no feature is used that would have to be enabled.
    let made = unsafe { device.raw().create_sampler(&info, Some(device.callbacks())) };
    Ok(Owned::new(device, "vkCreateSampler", made)?.named("between texels"))
}

fn create_layout(
    device: &Arc<Device>,
    sampler: vk::Sampler,
    textures: u32,
) -> Result<Owned<vk::DescriptorSetLayout>, CallError> {
    use vk::DescriptorBindingFlags as Flags;
    let samplers = [sampler];
    let binding = |binding, kind| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(kind)
            .stage_flags(vk::ShaderStageFlags::FRAGMENT)
    };
    let bindings = [
        binding(0, vk::DescriptorType::SAMPLER).immutable_samplers(&samplers),
        binding(1, vk::DescriptorType::SAMPLED_IMAGE).descriptor_count(textures),
    ];
    let array = Flags::UPDATE_AFTER_BIND | Flags::UPDATE_UNUSED_WHILE_PENDING | Flags::PARTIALLY_BOUND;
    let flags = [Flags::empty(), array];
    let mut with_flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
    let mut info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    if device.is_bindless() {
        info = info.flags(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL).push_next(&mut with_flags);
    }
    // SAFETY: the sampler is alive and outlives the layout (field order of `Descriptors`); the flags' features are
    // enabled where the device is bindless.
    let made = unsafe { device.raw().create_descriptor_set_layout(&info, Some(device.callbacks())) };
    Owned::new(device, "vkCreateDescriptorSetLayout", made)
}
