//! The counts that `transom msg stats` tells.

use super::Compositor;
use crate::adapters::ipc::protocol::{Ability, Cost, Held, Objects, OutputStats, Renderer, Stats};
use crate::domain::frame::Time;
use crate::ports::renderer::Capability;

impl Compositor {
    /// Everything counted until now.
    pub fn stats(&self, now: Time) -> Stats {
        let renderer = self.renderer.as_deref();
        let counters = renderer.map(|renderer| renderer.counters()).unwrap_or_default();
        Stats {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_ns: now.since_ns(self.started),
            first_frame_ns: self.first_frame_ns,
            clients: self.server.state.core.client_count(),
            objects: self.objects(),
            fds: open_descriptors(),
            device_losses: self.recovery.losses,
            renderer: renderer.map(|renderer| describe(renderer.capabilities())).unwrap_or_default(),
            total: Cost::from(&self.past_costs.plus(&counters)),
            holdings: renderer.map(|renderer| Held::from(&renderer.holdings())).unwrap_or_default(),
            outputs: self
                .screens
                .iter()
                .map(|screen| OutputStats {
                    name: screen.output.info().name.clone(),
                    presented: screen.tally.presented,
                    scanned_out: screen.tally.scanned_out,
                    skipped: screen.tally.skipped,
                    discarded: screen.tally.discarded,
                    failed: screen.tally.failed,
                    last_frame: Cost::from(&screen.last_frame),
                })
                .collect(),
        }
    }

    fn objects(&self) -> Objects {
        let core = &self.server.state.core;
        Objects {
            surfaces: core.surfaces.iter().count() as u64,
            buffers: core.buffers.alive(),
            held_buffers: core.buffers.held(),
            pools: core.shm.count().pools(),
            pool_bytes: core.shm.count().bytes(),
        }
    }
}

fn describe(capabilities: &crate::ports::renderer::Capabilities) -> Renderer {
    let abilities = |list: &[Capability]| {
        list.iter().map(|c| Ability { name: c.name.to_owned(), missing: c.missing.clone() }).collect()
    };
    Renderer {
        device: capabilities.device.clone(),
        software: capabilities.software,
        upload_tiers: abilities(&capabilities.upload_tiers),
        features: abilities(&capabilities.features),
    }
}

/// Of this process; zero where /proc is not there.
fn open_descriptors() -> u64 {
    // The directory's own descriptor is among them.
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}
