//! `panto extension update`, `add` and `remove`: the program `luarocks` does the work.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use panto_host::Config;
use panto_host::rocks::{
    LuaRocks, LuaRocksError, LuaRocksOptions, RockName, RocksTree, add_to_list, remove_from_list,
};

use crate::args::{CommonArgs, HostArgs};
use crate::compose::environment;
use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::streams;

/// Installs what is missing, and newer versions. One rock that fails does not stop the others.
pub(super) fn update(common: &CommonArgs, trust: bool) -> Result<(), Failure> {
    let desk = prepare(common, trust)?;
    let names = desk.config.extensions.rocks.iter();
    let rocks: Result<Vec<RockName>, _> = names.map(|name| name.parse()).collect();
    let rocks = rocks.map_err(|error| Failure::config(error).context("`extensions.rocks`"))?;
    if rocks.is_empty() {
        streams::note("no rocks are configured: `panto extension add NAME` adds one");
        return Ok(());
    }
    let luarocks = open(&desk)?;
    let (there, missing): (Vec<_>, Vec<_>) = rocks
        .into_iter()
        .partition(|rock| luarocks.tree().has(rock));
    let outdated = match there.is_empty() {
        true => Vec::new(),
        false => luarocks.outdated().map_err(failure)?,
    };
    let is_newer = |rock: &RockName| outdated.iter().any(|name| name == rock.name());
    let (newer, current): (Vec<_>, Vec<_>) = there.into_iter().partition(is_newer);
    for rock in &current {
        streams::note(format!("{rock} is up to date"));
    }
    let mut failed = None;
    for rock in missing.iter().chain(&newer) {
        streams::note(format!("installing {rock}"));
        if let Err(error) = luarocks.install(rock, None)
            && let Some(previous) = failed.replace(failure(error))
        {
            streams::report(&previous);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Installs a rock, then names it in the user's file.
pub(super) fn add(text: &str, common: &CommonArgs, trust: bool) -> Result<(), Failure> {
    let (rock, version) = RockName::parse_with_version(text).map_err(Failure::usage)?;
    let desk = prepare(common, trust)?;
    let file = user_file(&desk)?;
    let luarocks = open(&desk)?;
    streams::note(format!("installing {rock}"));
    let installed = luarocks.install(&rock, version.as_deref());
    installed.map_err(failure)?;
    let is_new = add_to_list(&file, rock.as_str()).map_err(Failure::config)?;
    streams::note(match is_new {
        true => format!("{rock} is installed, and in `{}`", file.display()),
        false => format!("{rock} is installed; `{}` named it already", file.display()),
    });
    warn_of_another_list(&desk, &file);
    Ok(())
}

/// Takes a rock from the user's file, then removes it.
pub(super) fn remove(text: &str, common: &CommonArgs, trust: bool) -> Result<(), Failure> {
    let rock: RockName = text.parse().map_err(Failure::usage)?;
    let desk = prepare(common, trust)?;
    let file = user_file(&desk)?;
    let data_home = desk.place.dirs.data_home().map_err(Failure::config)?;
    let is_there = RocksTree::of_data_home(data_home).has(&rock);
    // Whoever wants to be rid of one that is only named needs no `luarocks`.
    let luarocks = match is_there {
        true => Some(open(&desk)?),
        false => None,
    };
    let was_named = remove_from_list(&file, rock.as_str()).map_err(Failure::config)?;
    if let Some(luarocks) = luarocks {
        luarocks.remove(&rock).map_err(failure)?;
    } else if !was_named {
        return Err(Failure::usage(format!("there is no rock `{rock}`"))
            .with_hint("`panto extension list` lists those that are installed"));
    }
    streams::note(match was_named {
        true => format!("{rock} is removed, also from `{}`", file.display()),
        false => format!("{rock} is removed; `{}` did not name it", file.display()),
    });
    warn_of_another_list(&desk, &file);
    Ok(())
}

/// What all of these commands need.
struct Desk {
    place: Place,
    config: Arc<Config>,
}

fn prepare(common: &CommonArgs, trust: bool) -> Result<Desk, Failure> {
    let args = HostArgs {
        trust,
        ..HostArgs::default()
    };
    let place = Place::find_for(common, &args)?;
    let config = place.load_config(common)?;
    Ok(Desk { place, config })
}

fn open(desk: &Desk) -> Result<LuaRocks, Failure> {
    let data_home = desk.place.dirs.data_home();
    let data_home = data_home.map_err(Failure::config)?;
    let program = env::current_exe().map_err(|error| {
        let error = anyhow::Error::new(error).context("could not find panto's own program");
        Failure::new(Exit::TurnFailed, "internal", error)
    })?;
    let server = desk.config.extensions.rocks_server.as_ref();
    LuaRocks::open(LuaRocksOptions {
        data_home,
        program: &program,
        environment: environment(&desk.config),
        server: server.map(|server| server.value.as_str()),
    })
    .map_err(failure)
}

/// The file that the user's list is in.
fn user_file(desk: &Desk) -> Result<PathBuf, Failure> {
    let file = desk.config.user_file.clone();
    file.ok_or_else(|| {
        Failure::config(anyhow::anyhow!(
            "there is no place for a configuration file"
        ))
        .with_hint("set `HOME` or `XDG_CONFIG_HOME`, or name a file with --config FILE")
    })
}

/// A list of a higher layer replaces the user's.
fn warn_of_another_list(desk: &Desk, file: &std::path::Path) {
    let source = &desk.config.extensions.rocks.source;
    if let Some(place) = source.place().filter(|place| *place.file != *file) {
        streams::warn(format!(
            "here the list of `{}` counts instead: it names other rocks",
            place.file.display()
        ));
    }
}

fn failure(error: LuaRocksError) -> Failure {
    match &error {
        LuaRocksError::Missing | LuaRocksError::TooOld { .. } => Failure::config(error).with_hint(
            "install LuaRocks 3.8 or newer: `apt install luarocks` on Debian and Ubuntu, \
                 `dnf install luarocks` on Fedora, `brew install luarocks` on macOS",
        ),
        LuaRocksError::Failed { .. } => Failure::new(Exit::TurnFailed, "rocks", error),
        _ => Failure::config(error),
    }
}
