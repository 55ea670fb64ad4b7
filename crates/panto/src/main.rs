//! The panto program.
fn main() {}
