//! `panto session`: one session, shown, exported or repaired.

mod doctor;
mod export;

use pantograph::session::{FileSystemJsonlStore, SessionStore, SessionTree};
use pantograph::{SessionId, transcript};

use crate::args::{CommonArgs, SessionCommand};
use crate::failure::Failure;
use crate::place::{Place, Workers, wait_for};
use crate::sessions::minute;
use crate::streams;

pub(crate) fn run(command: SessionCommand, common: &CommonArgs) -> Result<(), Failure> {
    let store = Place::find(common)?.store()?;
    match command {
        SessionCommand::Show { id } => show(&store, &id),
        SessionCommand::Export { id, format, output } => {
            export::export(&store, &id, format, output.as_deref())
        }
        SessionCommand::Doctor { id, repair } => doctor::examine(&store, &id, repair),
    }
}

fn show(store: &FileSystemJsonlStore, id: &str) -> Result<(), Failure> {
    let tree = load(store, id)?;
    let header = tree.header();
    let text = format!(
        "session {}\nin {}, begun {} UTC\n\n{}",
        header.id,
        header.cwd.display(),
        minute(&header.created.to_string()),
        transcript(&tree.branch()),
    );
    streams::print_text(&text)
}

fn load(store: &FileSystemJsonlStore, id: &str) -> Result<SessionTree, Failure> {
    wait_for(Workers::None, async {
        let id = store.resolve(id).await?;
        Ok(store.load(id).await?)
    })
}

fn resolve(store: &FileSystemJsonlStore, id: &str) -> Result<SessionId, Failure> {
    wait_for(Workers::None, async { Ok(store.resolve(id).await?) })
}
