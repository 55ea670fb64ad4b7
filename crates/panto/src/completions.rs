//! `panto completions`.

use clap::CommandFactory;

use crate::args::Cli;
use crate::failure::Failure;
use crate::streams;

pub(crate) fn print(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "panto", &mut script);
    streams::print(&script)
}
