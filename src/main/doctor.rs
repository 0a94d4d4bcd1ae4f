//! `transom doctor`: what this machine offers, and what to do about what it lacks. Changes nothing.

use std::io::{self, Write};

use serde::Serialize;
use transom::adapters::vulkan::{self, Probe};
use transom::domain::dmabuf::Pair;
use transom::ports::renderer::Capability;

use self::system::Check;
use super::args::Doctor;

mod system;

/// Everything that is told.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    /// Absent where Vulkan itself is missing; `vulkan_missing` says why then.
    devices: Vec<Device>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vulkan_missing: Option<String>,
    system: Vec<Check>,
}

/// A Vulkan device.
#[derive(Debug, Serialize)]
struct Device {
    name: String,
    kind: &'static str,
    uuid: String,
    driver: String,
    /// What it lacks to be used at all; empty where it can be.
    lacks: Vec<String>,
    shm_formats: Vec<String>,
    /// What clients' images may be; empty where none are taken, `features` says why.
    dmabuf_formats: Vec<Format>,
    max_texture_side: u32,
    max_target_side: u32,
    upload_tiers: Vec<Ability>,
    features: Vec<Ability>,
}

/// A format that clients' images may have, with the modifiers that it is taken in.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Format {
    format: String,
    modifiers: Vec<Modifier>,
}

/// A way that texels lie.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Modifier {
    /// As drm_fourcc.h has it; INVALID is none, whatever the drivers silently agree on.
    modifier: String,
    /// Planes of memory.
    planes: u8,
}

/// By format, in order.
fn formats(pairs: &[Pair]) -> Vec<Format> {
    let mut pairs = pairs.to_vec();
    pairs.sort();
    let of = |pair: &Pair| Modifier { modifier: pair.modifier.to_string(), planes: pair.planes };
    let groups = pairs.chunk_by(|a, b| a.format == b.format);
    groups
        .map(|group| Format { format: group[0].format.to_string(), modifiers: group.iter().map(of).collect() })
        .collect()
}

/// Something that a device has or lacks.
#[derive(Debug, Serialize)]
struct Ability {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    /// What goes on without it, and what to do about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

impl From<&Capability> for Ability {
    fn from(capability: &Capability) -> Self {
        let Capability { name, missing } = capability;
        Self { name, missing: missing.clone(), advice: missing.as_ref().and_then(|_| advice(name)) }
    }
}

/// What goes on without an ability of a device, by its name.
fn advice(name: &str) -> Option<&'static str> {
    Some(match name {
        "host-copy" => "wl_shm content goes through a staging buffer; a newer driver may have it (Mesa 24.1 and later)",
        "bindless" => "each texture has a descriptor set of its own; nothing need be done",
        "windows" => "--backend nested needs it: install a driver that presents, headless works without",
        "sync-file-import" => "fences of clients are watched by the CPU, and their content is shown once they signal",
        "sync-file-export" => "clients hear that a buffer is free once its frame is seen to be complete",
        "dmabuf" => "clients that draw with the GPU hand their images over through memory (wl_shm)",
        "modifiers" => "clients' images are taken only in layouts that need no name; a hardware driver has more",
        "host-import" => "wl_shm memory is copied; nothing need be done",
        _ => return None,
    })
}

pub(crate) fn doctor(args: Doctor, out: &mut dyn Write) -> anyhow::Result<()> {
    let report = examine();
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        print(&report, out)?;
    }
    Ok(())
}

fn examine() -> Report {
    let options = vulkan::Options { presentation: true, ..Default::default() };
    let (devices, vulkan_missing) = match vulkan::probe(&options) {
        Ok(probes) => (probes.into_iter().map(device).collect(), None),
        Err(error) => (Vec::new(), Some(format!("{:#}", anyhow::Error::from(error)))),
    };
    Report { version: env!("CARGO_PKG_VERSION"), devices, vulkan_missing, system: system::examine() }
}

fn device(probe: Probe) -> Device {
    let can = &probe.capabilities;
    Device {
        driver: can.device.clone(),
        shm_formats: can.shm_formats.iter().map(ToString::to_string).collect(),
        dmabuf_formats: formats(&can.dmabuf_pairs),
        max_texture_side: can.max_texture_side,
        max_target_side: can.max_target_side,
        upload_tiers: can.upload_tiers.iter().map(Ability::from).collect(),
        features: can.features.iter().map(Ability::from).collect(),
        name: probe.name,
        kind: probe.kind,
        uuid: probe.uuid,
        lacks: probe.lacks,
    }
}

fn print(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "transom {}", report.version)?;
    if let Some(why) = &report.vulkan_missing {
        writeln!(out, "\nno Vulkan: {why}")?;
    } else if report.devices.is_empty() {
        writeln!(out, "\nno Vulkan device: install a driver, such as mesa-vulkan-drivers")?;
    }
    for device in &report.devices {
        writeln!(out, "\n{} ({}, UUID {})", device.name, device.kind, device.uuid)?;
        writeln!(out, "    {}", device.driver)?;
        if device.lacks.is_empty() {
            writeln!(
                out,
                "    usable; textures to {0}x{0}, outputs to {1}x{1}",
                device.max_texture_side, device.max_target_side
            )?;
        } else {
            writeln!(out, "    not usable, it lacks: {}", device.lacks.join(", "))?;
        }
        print_abilities("upload tiers, best first", &device.upload_tiers, out)?;
        print_abilities("features", &device.features, out)?;
        writeln!(out, "    wl_shm formats: {}", device.shm_formats.join(" "))?;
        print_formats(&device.dmabuf_formats, out)?;
    }
    writeln!(out)?;
    for check in &report.system {
        let mark = if check.good { "ok" } else { "--" };
        writeln!(out, "{mark}  {}: {}", check.name, check.found)?;
        if let Some(advice) = &check.advice {
            writeln!(out, "      {advice}")?;
        }
    }
    Ok(())
}

fn print_abilities(title: &str, list: &[Ability], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    {title}:")?;
    for ability in list {
        match &ability.missing {
            None => writeln!(out, "      ok  {}", ability.name)?,
            Some(missing) => {
                writeln!(out, "      --  {}: lacks {missing}", ability.name)?;
                if let Some(advice) = ability.advice {
                    writeln!(out, "          {advice}")?;
                }
            }
        }
    }
    Ok(())
}

/// Formats that are taken in the same modifiers share a paragraph: most devices have a few such, and dozens of formats.
fn print_formats(list: &[Format], out: &mut dyn Write) -> io::Result<()> {
    if list.is_empty() {
        return writeln!(out, "    dma-buf formats: none, see the features above");
    }
    writeln!(
        out,
        "    dma-buf formats, and the modifiers that they are taken in (with more planes than one: /planes):"
    )?;
    let mut told: Vec<&[Modifier]> = Vec::new();
    for Format { modifiers, .. } in list {
        if told.contains(&modifiers.as_slice()) {
            continue;
        }
        told.push(modifiers);
        let alike = list.iter().filter(|other| other.modifiers == *modifiers).map(|other| other.format.as_str());
        writeln!(out, "      {}", alike.collect::<Vec<_>>().join(" "))?;
        let modifier = |m: &Modifier| match m.planes {
            0 | 1 => m.modifier.clone(),
            planes => format!("{}/{planes}", m.modifier),
        };
        writeln!(out, "          {}", modifiers.iter().map(modifier).collect::<Vec<_>>().join(" "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use transom::domain::dmabuf;
    use transom::domain::format::{ARGB8888, Fourcc, XRGB8888};

    use super::*;

    #[test]
    fn formats_with_the_same_modifiers_are_told_together() {
        let pair = |format, modifier, planes| Pair { format, modifier, planes };
        let tiled = dmabuf::Modifier(0x0100_0000_0000_0002);
        let pairs = [
            pair(XRGB8888, tiled, 2),
            pair(ARGB8888, dmabuf::Modifier::LINEAR, 1),
            pair(XRGB8888, dmabuf::Modifier::LINEAR, 1),
            pair(ARGB8888, tiled, 2),
            pair(Fourcc::new(b"RG16"), dmabuf::Modifier::INVALID, 1),
        ];
        let list = formats(&pairs);
        let names: Vec<_> = list.iter().map(|format| (format.format.as_str(), format.modifiers.len())).collect();
        assert_eq!(names, [("ARGB8888", 2), ("XRGB8888", 2), ("RGB565", 1)], "in the order of their codes");
        let mut text = Vec::new();
        print_formats(&list, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<_> = text.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines, ["ARGB8888 XRGB8888", "LINEAR 0x0100000000000002/2", "RGB565", "INVALID"]);
    }

    #[test]
    fn report_prints_reason_and_advice() {
        let device = Device {
            name: "llvmpipe".into(),
            kind: "cpu",
            uuid: "00".into(),
            driver: "Mesa".into(),
            lacks: Vec::new(),
            shm_formats: vec!["ARGB8888".into()],
            dmabuf_formats: formats(&[]),
            max_texture_side: 8,
            max_target_side: 9,
            upload_tiers: vec![Ability { name: "staging", missing: None, advice: None }],
            features: vec![Ability::from(&Capability { name: "bindless", missing: Some("the feature X".into()) })],
        };
        let system = vec![Check::bad("seat", "none", "sit down")];
        let report = Report { version: "1", devices: vec![device], vulkan_missing: None, system };
        let mut text = Vec::new();
        print(&report, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for line in [
            "      ok  staging",
            "      --  bindless: lacks the feature X",
            "          each texture has a descriptor set of its own; nothing need be done",
            "--  seat: none",
            "      sit down",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
