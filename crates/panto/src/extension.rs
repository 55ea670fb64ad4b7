//! `panto extension`: which extensions there are, and the rocks that bring more.

mod list;
mod rocks;

use crate::args::{CommonArgs, ExtensionCommand};
use crate::failure::Failure;

pub(crate) use list::extension_line;

/// Does what the arguments say, and tells it.
///
/// # Errors
///
/// The configuration is broken, `luarocks` is not there, or it failed.
pub(crate) fn run(command: ExtensionCommand, common: &CommonArgs) -> Result<(), Failure> {
    match command {
        ExtensionCommand::List(args) => list::run(&args, common),
        ExtensionCommand::Update { trust } => rocks::update(common, trust),
        ExtensionCommand::Add { rock, change } => rocks::add(&rock, common, change.trust),
        ExtensionCommand::Remove { name, change } => rocks::remove(&name, common, change.trust),
    }
}
