//! `panto extension`.

use clap::{Args, Subcommand};

use super::HostArgs;

#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum ExtensionCommand {
    /// List the extensions with what became of them, and the rocks that are installed
    List(ListArgs),
    /// Install the configured rocks that are missing, and newer versions of the others
    Update {
        /// Trust the project for this run: the rocks that it names are installed too
        #[arg(long)]
        trust: bool,
    },
    /// Install a rock, and add it to `extensions.rocks` of your configuration file
    Add {
        /// The rock, and the version if it is not to be the newest: `NAME@VERSION`
        #[arg(value_name = "NAME[@VERSION]")]
        rock: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Remove a rock, and take it from `extensions.rocks` of your configuration file
    Remove {
        /// The rock
        name: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
}

const AFTER_HELP: &str = "\
Rocks are packages of Lua modules, in Lua or in C. The program `luarocks` (3.8 or newer) installs them
below ${XDG_DATA_HOME:-~/.local/share}/panto/rocks, for panto alone. Installing one runs its build.";

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

/// What both commands that change the list take.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Trust the project for this run: its `extensions.rocks_server` counts
    #[arg(long)]
    pub(crate) trust: bool,
}
