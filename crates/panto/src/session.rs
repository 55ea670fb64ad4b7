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
    let place = Place::find(common)?;
    let store = place.store()?;
    let (SessionCommand::Show { id: wanted }
    | SessionCommand::Export { id: wanted, .. }
    | SessionCommand::Doctor { id: wanted, .. }) = &command;
    let id = wait_for(Workers::None, place.resolve(&store, wanted))?;
    match command {
        SessionCommand::Show { .. } => show(&store, id),
        SessionCommand::Export { format, output, .. } => {
            export::export(&store, id, format, output.as_deref())
        }
        SessionCommand::Doctor { repair, .. } => doctor::examine(&store, id, repair),
    }
}

fn show(store: &FileSystemJsonlStore, id: SessionId) -> Result<(), Failure> {
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

fn load(store: &FileSystemJsonlStore, id: SessionId) -> Result<SessionTree, Failure> {
    wait_for(Workers::None, async { Ok(store.load(id).await?) })
}
