//! The configuration: what `compositor.toml` can say, as values already checked.
//!
//! Every struct is a section of the file, every field a key (in kebab case) with the default of [`Default`]; the
//! embedded file at the top of the tree documents each and is held equal to the defaults by a test. A user's file is
//! laid over the defaults key by key. Unknown keys are errors. Reading files is `adapters::config_file`'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::binding::{Bindings, Modifiers};
use super::fence;
use super::geometry::{Point, Scale, Size};
use super::mode::Mode;
use super::scene::Color;
use super::transform::Transform;

mod text;

pub use text::transform_name;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// How pixels are computed. Read at start.
    pub renderer: Renderer,
    /// Outputs by name; one that is not named has the defaults.
    pub outputs: BTreeMap<String, Output>,
    /// The backend without a screen. `outputs` is read at start.
    pub headless: Headless,
    /// The backend in a window of another desktop. Read at start.
    pub nested: Nested,
    /// Keyboard and pointer.
    pub input: Input,
    /// The pointer's image.
    pub cursor: Cursor,
    /// Placement and focus.
    pub windows: Windows,
    /// Workspaces.
    pub workspaces: Workspaces,
    /// What lies beneath every window.
    pub desktop: Desktop,
    /// What is logged.
    pub log: Log,
    /// Keys.
    #[serde(with = "text::bindings")]
    pub bindings: Bindings,
}

impl Config {
    /// What is said of the output `name`.
    pub fn output(&self, name: &str) -> Output {
        self.outputs.get(name).cloned().unwrap_or_default()
    }
}

/// A choice that is best left to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Where the device has it and it pays.
    #[default]
    Auto,
    /// Wherever the device has it; an error where it has not.
    On,
    /// Nowhere.
    Off,
}

/// How wl_shm bytes reach the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Upload {
    /// The best tier that the device has.
    #[default]
    Auto,
    /// The CPU writes into images (VK_EXT_host_image_copy).
    HostCopy,
    /// The CPU writes into a ring, the GPU copies from there.
    Staging,
}

/// `[renderer]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Renderer {
    /// Part of a device's name, or `auto` for the best by type.
    pub device: String,
    /// All textures in one descriptor array (descriptor indexing), or one set each.
    pub bindless: Switch,
    /// How wl_shm bytes reach the GPU.
    pub upload: Upload,
    /// Copies in the place of draws, where the picture is the same.
    pub transfers: Switch,
    /// Whether a frame waits for clients' fences.
    pub latch: fence::Policy,
    /// Whether a frame leaves its fence in the dma-bufs that it reads.
    pub read_fences: Switch,
    /// The Vulkan validation layer, with synchronisation validation; its messages go to the log.
    pub validation: bool,
}

impl Default for Renderer {
    fn default() -> Self {
        Self {
            device: "auto".to_owned(),
            bindless: Switch::Auto,
            upload: Upload::Auto,
            transfers: Switch::Auto,
            latch: fence::Policy::Auto,
            read_fences: Switch::Auto,
            validation: false,
        }
    }
}

/// `[outputs.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Output {
    /// Size and rate, where the backend lets one choose; `None` is the backend's choice.
    pub mode: Option<Mode>,
    /// From logical to physical; `None` is what suits the place it is shown at.
    #[serde(with = "text::scale")]
    pub scale: Option<Scale>,
    /// How the picture is turned for the screen.
    #[serde(with = "text::transform")]
    pub transform: Transform,
    /// Top left corner on the desktop, logical pixels; `None` is right of the outputs before it.
    #[serde(with = "text::position")]
    pub position: Option<Point>,
}

/// `[headless]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Headless {
    /// One output per mode, named HEADLESS-1 and so on.
    pub outputs: Vec<Mode>,
    /// Takes an opaque client that covers an output as shown, without compositing.
    pub scan_out: bool,
    /// Shows the pointer's image without compositing it.
    pub cursor_plane: bool,
}

impl Default for Headless {
    fn default() -> Self {
        let mode = Mode { size: Size::new(1920, 1080), refresh_mhz: 60_000 };
        Self { outputs: vec![mode], scan_out: true, cursor_plane: false }
    }
}

/// `[nested]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nested {
    /// The window's first size, logical pixels of the host.
    #[serde(with = "text::size")]
    pub size: Size,
}

impl Default for Nested {
    fn default() -> Self {
        Self { size: Size::new(1280, 720) }
    }
}

/// `[input]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// `[input.keyboard]`
    pub keyboard: Keyboard,
    /// `[input.pointer]`
    pub pointer: Pointer,
}

/// `[input.keyboard]`: the XKB names, empty for the system's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keyboard {
    /// Rules file.
    pub rules: String,
    /// Keyboard model.
    pub model: String,
    /// Layouts, comma separated.
    pub layout: String,
    /// Variants, one a layout, comma separated.
    pub variant: String,
    /// Options, comma separated.
    pub options: String,
    /// Repeats a second; zero turns repeating off.
    pub repeat_rate: u16,
    /// From press to first repeat, milliseconds.
    pub repeat_delay: u16,
}

impl Default for Keyboard {
    fn default() -> Self {
        let none = String::new;
        Self {
            rules: none(),
            model: none(),
            layout: none(),
            variant: none(),
            options: none(),
            repeat_rate: 25,
            repeat_delay: 600,
        }
    }
}

/// `[input.pointer]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pointer {
    /// Multiplies scrolled distances.
    #[serde(deserialize_with = "text::scroll_factor")]
    pub scroll_factor: f64,
    /// Content follows the fingers.
    pub natural_scroll: bool,
}

impl Default for Pointer {
    fn default() -> Self {
        Self { scroll_factor: 1.0, natural_scroll: false }
    }
}

/// `[cursor]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cursor {
    /// An XCursor theme; a picture of our own is used where it is not installed.
    pub theme: String,
    /// Logical pixels.
    pub size: u8,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { theme: "default".to_owned(), size: 24 }
    }
}

/// Where a new window goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each a step right and down of the one before.
    #[default]
    Cascade,
    /// In the middle of the output.
    Centre,
}

/// What gives a window the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Focus {
    /// A click on it.
    #[default]
    Click,
    /// The pointer entering it.
    Pointer,
}

/// Who draws title bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decorations {
    /// Clients, each its own.
    #[default]
    Client,
    /// Nobody: clients are asked to draw none, where they can be asked.
    None,
}

/// `[windows]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Windows {
    /// Where a new window goes.
    pub placement: Placement,
    /// What gives a window the keyboard.
    pub focus: Focus,
    /// A new window takes the keyboard.
    pub focus_new: bool,
    /// Who draws title bars.
    pub decorations: Decorations,
    /// With these held, the left button moves a window and the right one resizes it; empty turns that off.
    #[serde(with = "text::modifiers")]
    pub drag_modifiers: Modifiers,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            placement: Placement::Cascade,
            focus: Focus::Click,
            focus_new: true,
            decorations: Decorations::Client,
            drag_modifiers: Modifiers { logo: true, ..Modifiers::default() },
        }
    }
}

/// `[workspaces]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workspaces {
    /// How many there are, 1 to 100.
    #[serde(deserialize_with = "text::workspace_count")]
    pub count: u32,
}

impl Default for Workspaces {
    fn default() -> Self {
        Self { count: 4 }
    }
}

/// `[desktop]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Desktop {
    /// The colour beneath every window.
    #[serde(with = "text::colour")]
    pub background: Color,
}

impl Default for Desktop {
    fn default() -> Self {
        Self { background: rgb(0x24, 0x2a, 0x33) }
    }
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// A level, or directives `MODULE=LEVEL`, comma separated. $TRANSOM_LOG goes before it.
    pub filter: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { filter: "info,smithay=warn".to_owned() }
    }
}

/// An opaque colour from its bytes.
const fn rgb(r: u8, g: u8, b: u8) -> Color {
    Color::opaque(r as f32 / 255.0, g as f32 / 255.0, b as f32 / 255.0)
}
