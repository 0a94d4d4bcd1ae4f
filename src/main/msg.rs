//! `transom msg` and `transom screenshot`: asks a running compositor and prints the answer.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use transom::adapters::ipc::client;
use transom::adapters::ipc::protocol::{Cost, Reply, Request, Stats};

use super::args::{Message, Msg, Screenshot};

pub(crate) fn msg(msg: Msg, out: &mut dyn Write) -> anyhow::Result<()> {
    let request = match msg.message {
        Message::Outputs => Request::Outputs,
        Message::Windows => Request::Windows,
        Message::Stats => Request::Stats,
        Message::Reload => Request::Reload,
        Message::Quit => Request::Quit,
        Message::Action { words } => Request::Action { action: words.join(" ") },
    };
    let (reply, _) = client::ask(&client::socket_of(|name| std::env::var_os(name))?, &request)?;
    if msg.json { print_json(&reply, out) } else { print(&reply, out) }
}

pub(crate) fn screenshot(args: Screenshot, out: &mut dyn Write) -> anyhow::Result<()> {
    let to_stdout = args.file == Path::new("-");
    if to_stdout && args.json {
        bail!("--json and the picture cannot both go to the standard output: name a file");
    }
    let request = Request::Screenshot { output: args.output, part: args.part };
    let (reply, png) = client::ask(&client::socket_of(|name| std::env::var_os(name))?, &request)?;
    if to_stdout {
        out.write_all(&png)?;
        return Ok(());
    }
    write_whole(&args.file, &png)
        .with_context(|| format!("cannot write {}: is there such a directory?", args.file.display()))?;
    if args.json { print_json(&reply, out) } else { Ok(()) }
}

/// Writes a file so that it is there whole or not at all: what was there before stays where the disk is full. What is no
/// plain file (a pipe, /dev/stdout) is written as it is.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() && !path.is_file() {
        return File::create(path)?.write_all(bytes);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = Path::new(&beside);
    let written =
        File::create(beside).and_then(|mut file| file.write_all(bytes)).and_then(|()| std::fs::rename(beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(beside); // the first error counts
    }
    written
}

fn print_json(reply: &Reply, out: &mut dyn Write) -> anyhow::Result<()> {
    match reply {
        Reply::Done => serde_json::to_writer(&mut *out, "done")?,
        Reply::Outputs(outputs) => serde_json::to_writer_pretty(&mut *out, outputs)?,
        Reply::Windows(windows) => serde_json::to_writer_pretty(&mut *out, windows)?,
        Reply::Stats(stats) => serde_json::to_writer_pretty(&mut *out, stats)?,
        Reply::Screenshot(picture) => serde_json::to_writer_pretty(&mut *out, picture)?,
    }
    writeln!(out)?;
    Ok(())
}

fn print(reply: &Reply, out: &mut dyn Write) -> anyhow::Result<()> {
    match reply {
        Reply::Done | Reply::Screenshot(_) => {}
        Reply::Outputs(outputs) => {
            for o in outputs {
                let [x, y, w, h] = o.logical;
                let hz = f64::from(o.refresh_mhz) / 1000.0;
                writeln!(out, "{}: {}x{} at {hz} Hz ({} {})", o.name, o.width, o.height, o.make, o.model)?;
                writeln!(out, "    {w}x{h} at {x},{y}, scale {}, transform {}", o.scale, o.transform)?;
                if let Some(workspace) = o.workspace {
                    writeln!(out, "    workspace {workspace}")?;
                }
            }
        }
        Reply::Windows(windows) => {
            for w in windows {
                let [x, y, width, height] = w.geometry;
                let states = [
                    (w.focused, "focused"),
                    (w.maximised, "maximised"),
                    (w.fullscreen, "fullscreen"),
                    (w.minimised, "minimised"),
                ];
                let states: Vec<_> = states.into_iter().filter_map(|(is, name)| is.then_some(name)).collect();
                writeln!(out, "{}: {} \"{}\"", w.id, w.app_id.escape_debug(), w.title.escape_debug())?;
                writeln!(out, "    {width}x{height} at {x},{y}, workspace {} {}", w.workspace, states.join(" "))?;
            }
        }
        Reply::Stats(stats) => print_stats(stats, out)?,
    }
    Ok(())
}

fn print_stats(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    let ms = |ns: u64| ns as f64 / 1e6;
    writeln!(out, "device            {}", stats.renderer.device)?;
    for (name, list) in [("upload tiers", &stats.renderer.upload_tiers), ("features", &stats.renderer.features)] {
        let there: Vec<_> = list.iter().filter(|a| a.missing.is_none()).map(|a| a.name.as_str()).collect();
        writeln!(out, "{name:<17} {}", if there.is_empty() { "none".to_owned() } else { there.join(", ") })?;
    }
    writeln!(out, "up                {:.1} s", ms(stats.uptime_ns) / 1e3)?;
    match stats.first_frame_ns {
        Some(ns) => writeln!(out, "first frame       after {:.1} ms", ms(ns))?,
        None => writeln!(out, "first frame       not yet")?,
    }
    let o = &stats.objects;
    writeln!(out, "clients           {}", stats.clients)?;
    writeln!(out, "surfaces          {}", o.surfaces)?;
    writeln!(out, "buffers           {}, {} being read", o.buffers, o.held_buffers)?;
    writeln!(out, "pools             {}, {} bytes", o.pools, o.pool_bytes)?;
    writeln!(out, "descriptors       {}", stats.fds)?;
    writeln!(out, "device losses     {}", stats.device_losses)?;
    let h = &stats.holdings;
    writeln!(out, "imports           {} live, {} bytes", h.live_imports, h.live_bytes)?;
    writeln!(out, "                  {} retired, {} bytes", h.retired_imports, h.retired_bytes)?;
    writeln!(out, "deferred entries  {}", h.deferred_entries)?;
    writeln!(out, "Vulkan objects    {}", h.vulkan_objects)?;
    writeln!(out, "staging memory    {} bytes", h.staging_bytes)?;
    writeln!(out, "since start")?;
    print_cost(&stats.total, out)?;
    for o in &stats.outputs {
        writeln!(
            out,
            "{}: {} presented ({} scanned out), {} skipped, {} discarded, {} failed; the last frame",
            o.name, o.presented, o.scanned_out, o.skipped, o.discarded, o.failed
        )?;
        print_cost(&o.last_frame, out)?;
    }
    Ok(())
}

fn print_cost(c: &Cost, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "    submits {}, barrier calls {} (setup {}), draws {}, transfers {}",
        c.submits, c.barrier_calls, c.setup_barrier_calls, c.draws, c.transfers
    )?;
    writeln!(
        out,
        "    descriptor writes {}, objects created {}, destroyed {}, driver allocations {}",
        c.descriptor_writes, c.objects_created, c.objects_destroyed, c.driver_host_allocations
    )?;
    if c.validation_messages > 0 {
        writeln!(out, "    validation messages {}", c.validation_messages)?;
    }
    for (tier, copied) in &c.shm {
        writeln!(out, "    shm {tier}: {} bytes by the CPU, {} by the GPU", copied.cpu_bytes, copied.gpu_bytes)?;
    }
    Ok(())
}
