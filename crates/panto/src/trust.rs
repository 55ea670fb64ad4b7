//! `panto trust`: which projects may bring code.

use std::path::{Component, Path, PathBuf};

use panto_host::dirs::project_root;
use panto_host::extensions::{TrustError, TrustStore};
use panto_host::headless::sanitize_line;
use pantograph::with_causes;

use crate::args::{CommonArgs, TrustArgs};
use crate::failure::{Exit, Failure};
use crate::place::{Place, given_directory};
use crate::streams;

/// Does what the arguments say, and tells it.
pub(crate) fn run(args: &TrustArgs, common: &CommonArgs) -> Result<(), Failure> {
    let place = Place::find(common)?;
    let store = TrustStore::new(&place.dirs).map_err(Failure::config)?;
    if args.list {
        let mut text = String::new();
        for project in store.list().map_err(failure)? {
            let path = project.display().to_string();
            // A name may have a newline, and must not look like two projects.
            text.push_str(&sanitize_line(&path, usize::MAX));
            text.push('\n');
        }
        if text.is_empty() {
            streams::note("no project is trusted");
        }
        return streams::print_text(&text);
    }
    let root = match &args.path {
        // One that is gone can still be taken from the list.
        Some(path) if args.revoke => match path.canonicalize() {
            Ok(path) => project_root(&path),
            Err(_) => gone(path).map_err(Failure::usage)?,
        },
        Some(path) => project_root(&given_directory(path, "PATH")?),
        None => place.root.clone(),
    };
    let told = |what: &str| streams::note(format!("{what}: {}", root.display()));
    if args.revoke {
        match store.revoke(&root).map_err(failure)? {
            true => told("trusted no more"),
            false => told("was not trusted"),
        }
    } else {
        refuse_home(&root, place.home.as_deref())?;
        match store.trust(&root).map_err(failure)? {
            true => told("trusted: its extensions, skills and settings count from now on"),
            false => told("was trusted already"),
        }
    }
    Ok(())
}

/// The place of a directory that is gone: what is still there of its path is taken as it really
/// lies.
fn gone(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let real = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, mut real)) = real else {
        return Ok(path);
    };
    for part in path.strip_prefix(above).unwrap_or(&path).components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
    }
    Ok(real)
}

/// Whoever is in their home directory, or above it, rarely means to trust all that lies there.
fn refuse_home(root: &Path, home: Option<&Path>) -> Result<(), Failure> {
    let Some(home) = home.and_then(|home| home.canonicalize().ok()) else {
        return Ok(());
    };
    if home.starts_with(root) {
        return Err(Failure::usage(format!(
            "`{}` is no project: your home directory lies in it",
            root.display()
        ))
        .with_hint("change to the project, or name it: panto trust PATH"));
    }
    Ok(())
}

fn failure(error: TrustError) -> Failure {
    let text = anyhow::anyhow!(with_causes(&error));
    Failure::new(Exit::Usage, "config", text)
}
