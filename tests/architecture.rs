//! The house's walls: which layer may name what, how long a file may be, and that the map in README is the tree.
//!
//! Each rule reads the sources as text, so it needs no build of its own; each has a counter-example below that it must
//! refuse, so that a rule which stops seeing is itself a failure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates and modules that a layer must not name, by the path under `src/` that it starts with. First match counts.
#[rustfmt::skip]
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "domain/",
        &[
            "crate::ports", "crate::adapters", "crate::app", "ash", "smithay", "wayland_server", "wayland_protocols",
            "drm_fourcc", "winit", "calloop", "nix", "tracing_subscriber", "std::fs", "std::io", "std::net", "std::os",
            "std::process", "std::thread", "std::time::Instant", "std::time::SystemTime", "std::env",
        ],
    ),
    (
        "ports/",
        &[
            "crate::adapters", "crate::app", "ash", "smithay", "wayland_server", "winit", "calloop", "nix", "std::fs",
            "std::net", "std::process", "std::thread",
        ],
    ),
    ("adapters/vulkan/", &["crate::app", "crate::adapters::wayland", "crate::adapters::output", "crate::adapters::ipc", "smithay", "wayland_server", "calloop", "winit"]),
    ("adapters/wayland/", &["crate::app", "crate::adapters::vulkan", "crate::adapters::output", "crate::adapters::ipc", "ash", "winit"]),
    ("adapters/output/", &["crate::app", "crate::adapters::vulkan", "crate::adapters::wayland", "crate::adapters::ipc", "ash", "wayland_server"]),
    ("adapters/input/", &["crate::app", "crate::adapters::vulkan", "crate::adapters::wayland", "crate::adapters::ipc", "ash", "wayland_server"]),
    ("adapters/ipc/", &["crate::app", "crate::adapters::vulkan", "crate::adapters::wayland", "crate::adapters::output", "ash", "winit"]),
    ("adapters/", &["crate::app", "ash", "winit"]),
    ("app/", &["crate::adapters::vulkan", "ash", "winit", "wayland_server"]),
];

const FILE_LINES_MAX: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &str) -> Vec<(String, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        for path in entries.map(|e| e.expect("a directory entry").path()) {
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let base = root().join(dir);
    let mut paths = Vec::new();
    walk(&base, &mut paths);
    paths.sort();
    let relative = |p: &Path| p.strip_prefix(&base).expect("under its base").to_string_lossy().into_owned();
    paths.iter().map(|p| (relative(p), fs::read_to_string(p).expect("a readable source"))).collect()
}

/// Whether a line of code names `what` as a path: at a word's start, followed by `::`, `;`, `,`, `}`, ` as ` or nothing.
fn names(line: &str, what: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices(what).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + what.len()..];
        let starts = before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':' || c == '"'));
        let used = code.trim_start().starts_with("use ") || code.trim_start().starts_with("pub use ");
        starts && (after.starts_with("::") || (used && after.starts_with([';', ',', '}', ' '])))
    })
}

/// The breaches of the layer rules in one file.
fn breaches(path: &str, text: &str) -> Vec<String> {
    let Some((_, forbidden)) = FORBIDDEN.iter().find(|(prefix, _)| path.starts_with(prefix)) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for what in forbidden.iter().filter(|what| names(line, what)) {
            found.push(format!("src/{path}:{}: names {what}: {}", number + 1, line.trim()));
        }
    }
    found
}

#[test]
fn layers_of_every_source_point_inward() {
    let sources = sources("src");
    assert!(sources.len() > 20, "only {} sources were found", sources.len());
    let all: Vec<String> = sources.iter().flat_map(|(path, text)| breaches(path, text)).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn layers_of_a_breaching_source_are_seen() {
    assert_eq!(breaches("domain/x.rs", "use crate::ports::pool;").len(), 1);
    assert_eq!(breaches("domain/x.rs", "let t = std::time::Instant::now();").len(), 1);
    assert_eq!(breaches("domain/x.rs", "use nix;\nuse {ash, nix::fcntl};").len(), 3);
    assert_eq!(breaches("ports/x.rs", "    fn f(x: ash::vk::Format);").len(), 1);
    assert_eq!(breaches("adapters/wayland/x.rs", "use crate::adapters::vulkan::Vulkan;").len(), 1);
    assert_eq!(breaches("app/x.rs", "use crate::adapters::vulkan::Vulkan;").len(), 1);
    assert!(breaches("domain/x.rs", "// ash::vk is not named here\nlet dash = smash::x;").is_empty());
    assert!(breaches("adapters/vulkan/x.rs", "use ash::vk;").is_empty());
}

#[test]
fn files_of_the_house_are_short() {
    let mut long = Vec::new();
    for dir in ["src", "tests"] {
        for (path, text) in sources(dir) {
            let lines = text.lines().count();
            if lines > FILE_LINES_MAX {
                long.push(format!("{dir}/{path}: {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "longer than {FILE_LINES_MAX} lines:\n{}", long.join("\n"));
}

#[test]
fn files_of_the_house_say_what_they_are_for() {
    let silent: Vec<String> = ["src", "tests"]
        .iter()
        .flat_map(|dir| sources(dir).into_iter().map(move |(path, text)| (format!("{dir}/{path}"), text)))
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "no module docs: {silent:?}");
}

#[test]
fn lints_are_silenced_only_with_a_reason() {
    let mut bare = Vec::new();
    for dir in ["src", "tests"] {
        for (path, text) in sources(dir) {
            let mut lines = text.lines().enumerate().peekable();
            while let Some((number, line)) = lines.next() {
                let line = line.trim();
                if !(line.starts_with("#[allow(") || line.starts_with("#![allow(") || line.starts_with("#[expect(")) {
                    continue;
                }
                let mut attribute = line.to_owned();
                while !attribute.ends_with(']') {
                    let Some((_, more)) = lines.next() else { break };
                    attribute.push_str(more.trim());
                }
                if !attribute.contains("reason =") {
                    bare.push(format!("{dir}/{path}:{}: {line}", number + 1));
                }
            }
        }
    }
    assert!(bare.is_empty(), "silenced without a reason:\n{}", bare.join("\n"));
}

#[test]
fn map_of_the_readme_names_every_folder_and_no_other() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let map = readme.split("## Map").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section Map");
    let mut folders: Vec<String> = sources("src")
        .iter()
        .filter_map(|(path, _)| Path::new(path).parent().map(|p| format!("src/{}", p.display())))
        .map(|p| p.trim_end_matches('/').to_owned())
        .collect();
    folders.dedup();
    let missing: Vec<&String> = folders.iter().filter(|f| !map.contains(&format!("`{f}/`"))).collect();
    assert!(missing.is_empty(), "README's map lacks {missing:?}");
    for named in map.split('`').filter(|word| word.starts_with("src/") || word.starts_with("tests/")) {
        assert!(root().join(named).exists(), "README's map names {named}, which does not exist");
    }
}

/// The variables of our own that are named in a text.
fn variables(text: &str) -> BTreeSet<String> {
    let word = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    text.split(word)
        .filter(|word| word.len() > "TRANSOM_".len() && word.starts_with("TRANSOM_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn switches_of_the_readme_are_those_that_the_house_reads() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let readme = read("README.md");
    let table = readme.split("## Debug switches").nth(1).and_then(|rest| rest.split("\n## ").next());
    let told = variables(table.expect("a section Debug switches"));
    // What a test of the house makes up for itself stands behind the mark of its tests.
    let of = |text: &str| variables(text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
    let mut known: BTreeSet<String> = sources("src").iter().flat_map(|(_, text)| of(text)).collect();
    let missing: Vec<_> = known.difference(&told).collect();
    assert!(missing.is_empty() && !known.is_empty(), "README's table lacks {missing:?}");
    known.extend(sources("tests").iter().flat_map(|(_, text)| variables(text)));
    known.extend(
        ["modern", "with-driver", "check"].iter().flat_map(|name| variables(&read(&format!("tests/rig/{name}")))),
    );
    let strangers: Vec<_> = told.difference(&known).collect();
    assert!(strangers.is_empty(), "README's table tells of {strangers:?}, which nothing reads");
    // The configuration's switches are keys of the documented file.
    let table = table.unwrap_or_default();
    let file: toml::Table = read("compositor.toml").parse().expect("compositor.toml");
    let section = |name: &str| file[name].as_table().expect("a section");
    for key in section("renderer").keys() {
        assert!(table.contains(&format!("`renderer.{key}")), "README's table lacks renderer.{key}");
    }
    let named = table.split('`').filter_map(|word| word.split([' ', ',']).next()?.split_once('.'));
    for (name, key) in named.filter(|(name, _)| file.contains_key(*name)) {
        assert!(section(name).contains_key(key), "README's table tells of {name}.{key}, which there is not");
    }
}
