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
    let tree = load(store, id).await?;
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

/// Loads a session, and says if its last record is not whole.
async fn load(store: &FileSystemJsonlStore, id: SessionId) -> Result<SessionTree, Failure> {
    let tree = store.load(id).await?;
    warn_if_torn(&tree);
    Ok(tree)
}

/// Tells people that a crash cut the last record of a session off.
pub(crate) fn warn_if_torn(tree: &SessionTree) {
    if tree.torn_bytes() > 0 {
        streams::warn(format!(
            "the last record of session `{}` was cut off, probably by a crash; its {} bytes are left out",
            tree.header().id,
            tree.torn_bytes()
        ));
    }
}
