//! The man pages' and the shell completions' freshness. `TRANSOM_WRITE_RESOURCES=1 cargo test --bin transom` writes
//! them; the test fails where they are not what the command line says.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;

const SECTIONS: &str = include_str!("../../resources/man/transom.1.sections");
const SOURCE: &str = concat!("transom ", env!("CARGO_PKG_VERSION"));

fn each_page(command: &Command, tell: &mut dyn FnMut(&str, Vec<u8>)) {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let man = clap_mangen::Man::new(command.clone()).title(name.to_uppercase());
    let mut page = Vec::new();
    man.date("").source(SOURCE).manual("Transom").render(&mut page).unwrap();
    if name == "transom" {
        page.extend_from_slice(SECTIONS.as_bytes());
    }
    tell(&format!("man/{name}.1"), page);
    command.get_subcommands().for_each(|sub| each_page(sub, tell));
}

fn each_resource(tell: &mut dyn FnMut(&str, Vec<u8>)) {
    let mut command = Cli::command();
    command.build();
    each_page(&command, tell);
    for (shell, file) in [(Shell::Bash, "transom.bash"), (Shell::Zsh, "_transom"), (Shell::Fish, "transom.fish")] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "transom", &mut script);
        tell(&format!("completions/{file}"), script);
    }
}

#[test]
fn man_pages_and_completions_are_fresh() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("resources");
    let write = std::env::var_os("TRANSOM_WRITE_RESOURCES").is_some_and(|v| v == "1");
    let mut stale = Vec::new();
    each_resource(&mut |name, content| {
        let path = dir.join(name);
        if write {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &content).unwrap();
        } else if std::fs::read(&path).ok() != Some(content) {
            stale.push(name.to_owned());
        }
    });
    assert!(stale.is_empty(), "stale {stale:?}: run TRANSOM_WRITE_RESOURCES=1 cargo test --bin transom");
}
