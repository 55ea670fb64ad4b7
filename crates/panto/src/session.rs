//! `panto session`: one session, shown, exported or repaired.

mod doctor;
mod export;

use pantograph::session::{FileSystemJsonlStore, SessionStore};
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
    wait_for(Workers::None, async {
        let id = place.resolve(&store, wanted).await?;
        match command {
            SessionCommand::Show { .. } => show(&store, id).await,
            SessionCommand::Export { format, .. } => export::export(&store, id, format).await,
            SessionCommand::Doctor { repair, .. } => doctor::examine(&store, id, repair),
        }
    })
}

async fn show(store: &FileSystemJsonlStore, id: SessionId) -> Result<(), Failure> {
    let tree = store.load(id).await?;
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
