//! Compiled pipelines on disk, one file for each driver.
//!
//! The file begins with a head of ours (magic, length, checksum), so that a torn or damaged file is not even shown to
//! the driver, which may trust it. Written to a temporary file and renamed. Whatever is wrong with the cache, the
//! pipelines are compiled without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::CallError;
use super::owned::Owned;

const MAGIC: [u8; 8] = *b"transom1";
const HEAD_BYTES: usize = 24;

/// A VkPipelineCache and where it is kept.
pub(super) struct PipelineCache {
    raw: Owned<vk::PipelineCache>,
    device: Arc<Device>,
    file: Option<PathBuf>,
    loaded: Vec<u8>,
}

impl PipelineCache {
    /// A cache with what `directory` holds for this driver.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn new(device: &Arc<Device>, directory: Option<&Path>) -> Result<Self, CallError> {
        let (vendor, id, uuid) = device.gpu().cache_key;
        let uuid: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = directory.map(|dir| dir.join(format!("pipelines-{vendor:x}-{id:x}-{uuid}")));
        let loaded = file.as_deref().and_then(|file| read(file, device.gpu().cache_key)).unwrap_or_default();
        let info = vk::PipelineCacheCreateInfo::default().initial_data(&loaded);
        // SAFETY: the data is empty or came, unharmed, from this driver's vkGetPipelineCacheData.
        let made = unsafe { device.raw().create_pipeline_cache(&info, Some(device.callbacks())) };
        let raw = Owned::new(device, "vkCreatePipelineCache", made)?;
        Ok(Self { raw, device: Arc::clone(device), file, loaded })
    }

    /// The handle, not owned.
    pub(super) fn raw(&self) -> vk::PipelineCache {
        self.raw.raw()
    }

    /// Writes the cache to disk if it holds something new; a failure is logged and otherwise nothing.
    pub(super) fn save(&mut self) {
        let Some(file) = &self.file else { return };
        // SAFETY: the cache is alive and only used by this thread.
        let data = unsafe { self.device.raw().get_pipeline_cache_data(self.raw()) };
        let Ok(data) = data else { return };
        if data == self.loaded {
            return;
        }
        match write(file, &data) {
            Ok(()) => tracing::debug!("wrote {} bytes of compiled pipelines to {}", data.len(), file.display()),
            Err(error) => tracing::warn!("cannot keep compiled pipelines in {}: {error}", file.display()),
        }
        self.loaded = data;
    }
}

/// The driver's data in `file`, if it is whole and this driver's own.
fn read(file: &Path, key: (u32, u32, [u8; vk::UUID_SIZE])) -> Option<Vec<u8>> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!("cannot read compiled pipelines from {}: {error}", file.display());
            return None;
        }
    };
    let data = unwrap(&bytes).filter(|data| is_own(data, key));
    if data.is_none() {
        tracing::warn!("{} is damaged or another driver's: compiling anew", file.display());
    }
    data.map(<[u8]>::to_vec)
}

fn write(file: &Path, data: &[u8]) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = fs::write(&temporary, wrap(data)).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary); // it may not even exist
    }
    written
}

fn wrap(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + data.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&checksum(data).to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn unwrap(bytes: &[u8]) -> Option<&[u8]> {
    let (head, data) = bytes.split_at_checked(HEAD_BYTES)?;
    let number = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
    let whole = head.starts_with(&MAGIC) && number(8)? == data.len() as u64 && number(16)? == checksum(data);
    whole.then_some(data)
}

/// Whether the data's own head (VkPipelineCacheHeaderVersionOne) names this driver.
fn is_own(data: &[u8], (vendor, device, uuid): (u32, u32, [u8; vk::UUID_SIZE])) -> bool {
    let number = |at: usize| data.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    number(4) == Some(vk::PipelineCacheHeaderVersion::ONE.as_raw() as u32)
        && number(8) == Some(vendor)
        && number(12) == Some(device)
        && data.get(16..32) == Some(&uuid)
}

/// FNV-1a, 64 bits: against accidents, not against malice.
fn checksum(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: (u32, u32, [u8; 16]) = (0x10005, 7, [3; 16]);

    fn driver_data() -> Vec<u8> {
        let mut data = Vec::new();
        for word in [32u32, 1, KEY.0, KEY.1] {
            data.extend_from_slice(&word.to_le_bytes());
        }
        data.extend_from_slice(&KEY.2);
        data.extend_from_slice(b"compiled code");
        data
    }

    #[test]
    fn cache_written_and_read_is_the_same_and_leaves_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deeper/cache");
        write(&file, &driver_data()).unwrap();
        assert_eq!(read(&file, KEY), Some(driver_data()));
        assert_eq!(fs::read_dir(dir.path().join("deeper")).unwrap().count(), 1);
    }

    #[test]
    fn cache_of_another_driver_or_damaged_anywhere_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("cache");
        write(&file, &driver_data()).unwrap();
        assert_eq!(read(&file, (KEY.0, KEY.1 + 1, KEY.2)), None);
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(read(&file, KEY), None, "byte {at}");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(read(&file, KEY), None, "cut at {at}");
        }
        assert_eq!(read(&dir.path().join("missing"), KEY), None);
    }
}
