//! The command line: chooses adapters and runs.

fn main() {}
