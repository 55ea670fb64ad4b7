//! Finding a session by its id or the beginning of it.

use std::io;
use std::path::Path;

use super::disk::io_error;
use super::places::session_of;
use crate::ids::SessionId;
use crate::session::SessionError;

/// How many ids an error suggests.
const SUGGESTIONS: usize = 3;

/// The ids of all sessions in a directory, in order. A directory that is not there has none.
pub(super) fn ids(directory: &Path) -> Result<Vec<SessionId>, SessionError> {
    let failed = |source| io_error("list", directory, source);
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let Some(id) = session_of(&entry.file_name()) else {
            continue;
        };
        // The entry's own type: a link is not followed.
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            ids.push(id);
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

/// The session of a full id, or of a prefix that only one id has.
pub(super) fn resolve(directory: &Path, wanted: &str) -> Result<SessionId, SessionError> {
    let ids = ids(directory)?;
    let candidates: Vec<SessionId> = match wanted {
        "" => Vec::new(),
        _ => ids
            .iter()
            .copied()
            .filter(|id| id.to_string().starts_with(wanted))
            .collect(),
    };
    match candidates[..] {
        [id] => Ok(id),
        [] => Err(none_of(&ids, wanted)),
        _ => Err(SessionError::Ambiguous {
            wanted: wanted.to_owned(),
            candidates,
        }),
    }
}

/// The error for an id that no session has.
pub(super) fn not_found(directory: &Path, wanted: &str) -> SessionError {
    // Suggestions are a courtesy: without them it is the same error.
    none_of(&ids(directory).unwrap_or_default(), wanted)
}

/// Suggests the ids that share the longest beginning with `wanted`, newest first among equals.
fn none_of(ids: &[SessionId], wanted: &str) -> SessionError {
    let mut ranked: Vec<(usize, SessionId)> =
        ids.iter().map(|&id| (shared(id, wanted), id)).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    SessionError::NotFound {
        wanted: wanted.to_owned(),
        nearest: ranked
            .into_iter()
            .take(SUGGESTIONS)
            .map(|(_, id)| id)
            .collect(),
    }
}

fn shared(id: SessionId, wanted: &str) -> usize {
    let id = id.to_string();
    id.bytes()
        .zip(wanted.bytes())
        .take_while(|(a, b)| a == b)
        .count()
}
