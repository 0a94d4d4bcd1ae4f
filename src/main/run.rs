//! `transom run`: adapters from the command line and the configuration, then the loop.
//!
//! Order matters: signals are blocked before a driver starts threads; the renderer comes before the display, which
//! announces its formats; the command is started once clients can connect.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use tracing_subscriber::{EnvFilter, Registry, layer::SubscriberExt, reload, util::SubscriberInitExt};
use transom::adapters::config_file::Source;
use transom::adapters::output::headless::Headless;
use transom::adapters::vulkan::{self, Vulkan};
use transom::adapters::{ipc, wayland};
use transom::app::{self, Compositor, Exit, NoRenderer, Setup, child};
use transom::domain::config::{self, Config};
use transom::domain::frame::Time;
use transom::domain::geometry::Size;
use transom::domain::mode::Mode;
use transom::domain::plane::Abilities;
use transom::ports::input::Input;
use transom::ports::output::Output;
use transom::ports::renderer::{Capabilities, Renderer};

use super::args::{Backend, Run};

/// Runs until it ends.
pub(crate) fn run(args: Run) -> anyhow::Result<ExitCode> {
    let started = app::clock::now();
    let signals = app::block_signals()?;
    let source = Source::find(args.config.as_deref(), |name| std::env::var_os(name));
    let config = source.load(&app::KEYS)?;
    let set_log_filter = start_log(&config.log.filter);
    let runtime_dir = runtime_dir()?;
    let limit = child::raise_descriptor_limit();

    let backend = choose_backend(args.backend, |name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let (outputs, inputs) = open_outputs(backend, &args.outputs, &config)?;
    let options = vulkan_options(&config.renderer, args.device.as_deref(), backend);
    let mut factory: app::Factory = Box::new(move || {
        let renderer = Vulkan::new(&options).map_err(NoRenderer::from)?;
        Ok(Box::new(renderer) as Box<dyn Renderer>)
    });
    let renderer = factory().map_err(anyhow::Error::from_boxed).context(
        "no renderer: `transom doctor` says what this machine offers, [renderer] in compositor.toml what is asked of it",
    )?;

    let offers = renderer.capabilities();
    let server_options = wayland::state::Options {
        shm_formats: offers.shm_formats.clone(),
        dmabuf: dmabuf_options(offers),
        fences: wayland::fence::Options { policy: config.renderer.latch, queue_waits: offers.can("sync-file-import") },
    };
    let server = wayland::Server::listen(server_options, args.socket.as_deref()).with_context(|| {
        format!("clients cannot connect: is {} writable, and the socket's name free?", runtime_dir.display())
    })?;
    let socket = server.socket_name().unwrap_or_default().to_string_lossy().into_owned();
    let control_path = ipc::socket_path(&runtime_dir, &socket);
    let control = ipc::server::Server::listen(&control_path)
        .with_context(|| format!("{}: `transom msg` cannot connect", control_path.display()))?;

    let environment = environment(&socket, &control_path);
    let setup = Setup {
        server,
        factory,
        renderer,
        outputs,
        inputs,
        config,
        source: Some(source),
        control: Some(control),
        children: child::Children::new(environment, limit),
        set_log_filter,
        started,
    };
    let mut compositor =
        Compositor::new(setup, app::clock::now()).context("the device cannot make what the outputs show")?;
    tracing::info!(socket, "listening");
    if let Some(program) = args.command.first() {
        compositor
            .start_main(&args.command, args.exit_with_child)
            .with_context(|| format!("{} cannot be started", Path::new(program).display()))?;
    }
    match app::run(&mut compositor, signals)? {
        Exit::Done => Ok(ExitCode::SUCCESS),
        Exit::Child(code) => Ok(ExitCode::from(code)),
        Exit::NoRenderer => bail!("the device was lost and does not come back; the log says why"),
        Exit::NoClients => bail!("clients cannot be served any more; the log says why"),
    }
}

/// What clients may allocate; nothing where the machine makes no dma-bufs, so that they do not try.
fn dmabuf_options(offers: &Capabilities) -> wayland::dmabuf::Options {
    let device = offers.drm_node.or_else(drm_node);
    let makes_some = device.is_some() || ["/dev/udmabuf", "/dev/dma_heap"].iter().any(|path| Path::new(path).exists());
    let pairs = if makes_some { offers.dmabuf_pairs.clone() } else { Vec::new() };
    wayland::dmabuf::Options { pairs, device }
}

/// Where clients of a renderer that is no DRM node may allocate (dev_t): the first node for rendering, else the first
/// of any kind.
fn drm_node() -> Option<u64> {
    let entries = std::fs::read_dir("/dev/dri").ok()?;
    let names = entries.flatten().map(|entry| entry.file_name()).filter_map(|name| name.into_string().ok());
    let rank = |name: &String| (!name.starts_with("renderD"), name.len(), name.clone());
    let name = names.filter(|name| name.starts_with("renderD") || name.starts_with("card")).min_by_key(rank)?;
    nix::sys::stat::stat(&Path::new("/dev/dri").join(name)).ok().map(|stat| stat.st_rdev)
}

/// Logs to the standard error. Gives back what puts another filter in force.
fn start_log(filter: &str) -> Box<dyn FnMut(&str)> {
    let forced = std::env::var("TRANSOM_LOG").ok().filter(|text| !text.is_empty());
    let wanted = forced.as_deref().unwrap_or(filter);
    let parsed = EnvFilter::try_new(wanted);
    let mistake = parsed.as_ref().err().map(ToString::to_string);
    let (layer, handle) = reload::Layer::new(parsed.unwrap_or_else(|_| EnvFilter::new("info")));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    Registry::default().with(layer).with(lines).init();
    if let Some(mistake) = mistake {
        tracing::warn!("the log filter '{wanted}' is not understood, 'info' is used: {mistake}");
    }
    Box::new(move |filter| {
        if forced.is_some() {
            return;
        }
        match EnvFilter::try_new(filter) {
            Ok(filter) => {
                if let Err(error) = handle.reload(filter) {
                    tracing::error!(%error, "the log filter stays");
                }
            }
            Err(error) => tracing::warn!("the log filter '{filter}' is not understood and stays as it was: {error}"),
        }
    })
}

fn runtime_dir() -> anyhow::Result<PathBuf> {
    let dir = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let dir = dir.context("XDG_RUNTIME_DIR is not set: set it to a directory of your own, e.g. `mktemp -d`")?;
    if !dir.is_absolute() || !dir.is_dir() {
        bail!("XDG_RUNTIME_DIR is {}, which is no absolute directory: make it, for yourself alone", dir.display());
    }
    Ok(dir)
}

/// What `auto` means here.
fn choose_backend(asked: Backend, is_set: impl Fn(&str) -> bool) -> Backend {
    let host = is_set("WAYLAND_DISPLAY") || is_set("DISPLAY");
    match asked {
        Backend::Auto if host && cfg!(feature = "nested") => Backend::Nested,
        Backend::Auto => Backend::Headless,
        asked => asked,
    }
}

type Devices = (Vec<Box<dyn Output>>, Vec<Box<dyn Input>>);

fn open_outputs(backend: Backend, modes: &[Mode], config: &Config) -> anyhow::Result<Devices> {
    match backend {
        Backend::Nested => open_nested(modes.first().map_or(config.nested.size, |mode| mode.size)),
        Backend::Headless | Backend::Auto => Ok((headless(modes, config, app::clock::now()), Vec::new())),
    }
}

#[cfg(feature = "nested")]
fn open_nested(size: Size) -> anyhow::Result<Devices> {
    let opened = transom::adapters::output::nested::open(size);
    let (output, input) = opened.context("no window: --backend headless needs none")?;
    Ok((vec![Box::new(output)], vec![Box::new(input)]))
}

#[cfg(not(feature = "nested"))]
fn open_nested(_: Size) -> anyhow::Result<Devices> {
    bail!("this transom was built without the feature 'nested': use --backend headless")
}

/// The command line's modes go before the configuration's, an output's own before both.
fn headless(modes: &[Mode], config: &Config, epoch: Time) -> Vec<Box<dyn Output>> {
    let modes = if modes.is_empty() { &config.headless.outputs } else { modes };
    let abilities = Abilities { scan_out: config.headless.scan_out, cursor_plane: config.headless.cursor_plane };
    let output = |(index, mode): (usize, &Mode)| {
        let name = format!("HEADLESS-{}", index + 1);
        let mode = config.output(&name).mode.unwrap_or(*mode);
        Box::new(Headless::new(name, mode, abilities, epoch)) as Box<dyn Output>
    };
    modes.iter().enumerate().map(output).collect()
}

fn vulkan_options(wanted: &config::Renderer, device: Option<&str>, backend: Backend) -> vulkan::Options {
    let device = device.unwrap_or(&wanted.device);
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    vulkan::Options {
        device: (device != "auto").then(|| device.to_owned()),
        validation: wanted.validation,
        presentation: backend == Backend::Nested,
        bindless: match wanted.bindless {
            config::Switch::Auto => vulkan::Bindless::Auto,
            config::Switch::On => vulkan::Bindless::On,
            config::Switch::Off => vulkan::Bindless::Off,
        },
        upload: match wanted.upload {
            config::Upload::Auto => vulkan::Upload::Auto,
            config::Upload::HostCopy => vulkan::Upload::HostCopy,
            config::Upload::Staging => vulkan::Upload::Staging,
        },
        transfers: match wanted.transfers {
            config::Switch::Auto => vulkan::Transfers::Auto,
            config::Switch::On => vulkan::Transfers::Always,
            config::Switch::Off => vulkan::Transfers::Never,
        },
        read_fences: match wanted.read_fences {
            config::Switch::Auto => vulkan::ReadFences::Auto,
            config::Switch::On => vulkan::ReadFences::On,
            config::Switch::Off => vulkan::ReadFences::Off,
        },
        pipeline_cache: cache.map(|dir| dir.join("transom")),
    }
}

/// What programs find us by.
fn environment(display: &str, control: &Path) -> Vec<(OsString, OsString)> {
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    vec![
        pair("WAYLAND_DISPLAY", display),
        pair("XDG_SESSION_TYPE", "wayland"),
        pair("XDG_CURRENT_DESKTOP", "transom"),
        (ipc::SOCKET_VARIABLE.into(), control.as_os_str().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backend_is_a_window_only_where_there_is_a_desktop() {
        let desktop = |name: &str| name == "DISPLAY";
        let auto = choose_backend(Backend::Auto, desktop);
        assert_eq!(auto == Backend::Nested, cfg!(feature = "nested"));
        assert_eq!(choose_backend(Backend::Auto, |_| false), Backend::Headless);
        assert_eq!(choose_backend(Backend::Headless, desktop), Backend::Headless);
        assert_eq!(choose_backend(Backend::Nested, |_| false), Backend::Nested);
    }

    #[test]
    fn headless_modes_come_from_the_output_then_the_command_line_then_the_configuration() {
        let mut config = Config::default();
        let own = config::Output { mode: Some("10x10@30".parse().unwrap()), ..Default::default() };
        config.outputs.insert("HEADLESS-2".to_owned(), own);
        let modes = |given: &[Mode]| -> Vec<_> {
            let outputs = headless(given, &config, Time::default());
            outputs.iter().map(|o| format!("{} {}", o.info().name, o.info().mode)).collect()
        };
        assert_eq!(modes(&[]), ["HEADLESS-1 1920x1080@60"]);
        let given = ["64x64@60".parse().unwrap(), "32x32@60".parse().unwrap()];
        assert_eq!(modes(&given), ["HEADLESS-1 64x64@60", "HEADLESS-2 10x10@30"]);
    }
}
