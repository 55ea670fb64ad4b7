//! Describing sessions from the first line of a file, its last, and two that the last one names.

use std::cmp::Reverse;
use std::path::Path;

use jiff::Timestamp;

use super::decode::{self, Context};
use super::disk::{self, Access, io_error};
use super::lookup;
use super::marks::Mark;
use super::outline::Outline;
use super::places::Places;
use super::read::{self, RawLine};
use super::window::{OwnedLine, Window};
use crate::ids::SessionId;
use crate::message::{Message, Origin, Role};
use crate::session::{Header, Record, SessionError, SessionInfo};

/// Describes the `limit` sessions that were modified last, in that order.
pub(super) fn list(directory: &Path, limit: usize) -> Result<Vec<SessionInfo>, SessionError> {
    let ids = lookup::ids(directory)?;
    if limit >= ids.len() {
        let mut infos = each(&ids, |id| describe(&Places::new(directory, id)));
        infos.sort_by_key(|info| Reverse((info.modified, info.id)));
        return Ok(infos);
    }
    let mut times = each(&ids, |id| modified(&Places::new(directory, id)));
    times.sort_unstable_by_key(|&time| Reverse(time));
    Ok(times
        .into_iter()
        .filter_map(|(_, id)| readable(id, describe(&Places::new(directory, id))))
        .take(limit)
        .collect())
}

/// Reads every session that can be read, on as many threads as pay: most of the time goes into
/// system calls.
fn each<T: Send>(
    ids: &[SessionId],
    read: impl Fn(SessionId) -> Result<T, SessionError> + Sync,
) -> Vec<T> {
    const MAX_THREADS: usize = 4;
    const IDS_A_THREAD: usize = 256;
    let read = |&id: &SessionId| readable(id, read(id));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(ids.len() / IDS_A_THREAD);
    if threads < 2 {
        return ids.iter().filter_map(read).collect();
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = ids
            .chunks(ids.len().div_ceil(threads))
            .map(|part| scope.spawn(move || part.iter().filter_map(read).collect::<Vec<T>>()))
            .collect();
        let join = |part: std::thread::ScopedJoinHandle<'_, Vec<T>>| match part.join() {
            Ok(items) => items,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        parts.into_iter().flat_map(join).collect()
    })
}

/// Leaves a session out that cannot be read.
fn readable<T>(id: SessionId, result: Result<T, SessionError>) -> Option<T> {
    result
        .inspect_err(|error| {
            tracing::warn!(%id, error = %crate::error::with_causes(error), "left out of the list");
        })
        .ok()
}

fn modified(places: &Places) -> Result<(Timestamp, SessionId), SessionError> {
    let session = Ends::read(places)?;
    Ok((session.modified, places.id))
}

fn describe(places: &Places) -> Result<SessionInfo, SessionError> {
    let session = Ends::read(places)?;
    let marked = session
        .marked()
        .map_err(|e| io_error("read", &places.path, e))?;
    let branch = match marked {
        Some(branch) => branch,
        None => whole_branch(&session.window, places)?,
    };
    let Header {
        created, metadata, ..
    } = session.header;
    let (api_style, base_url, model, reasoning) = match branch.origin {
        Some(origin) => (
            Some(origin.style),
            origin.base_url,
            Some(origin.reference),
            origin.reasoning,
        ),
        None => (None, None, None, None),
    };
    Ok(SessionInfo {
        id: places.id,
        created,
        modified: session.modified,
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
        message_count: branch.message_count,
        last_user_message: branch.last_user_message,
        api_style,
        base_url,
        model,
        reasoning,
    })
}

/// The first line of a session, and what its last one says.
struct Ends {
    window: Window,
    header: Header,
    modified: Timestamp,
    /// `None` if whoever wrote the last line wrote no mark.
    mark: Option<Mark>,
}

/// What a listing says of a branch.
struct Branch {
    message_count: u64,
    last_user_message: Option<String>,
    origin: Option<Origin>,
}

impl Ends {
    fn read(places: &Places) -> Result<Self, SessionError> {
        let failed = |source| io_error("read", &places.path, source);
        let file = disk::open_file(&places.path, Access::Read)
            .map_err(|source| io_error("open", &places.path, source))?;
        let window = Window::new(file).map_err(failed)?;
        let first = window.line_at(0).map_err(failed)?;
        let header = read::header(first.as_ref().map(OwnedLine::as_raw), places)?;
        let mut lines = window.backwards();
        while let Some(line) = lines.next().map_err(failed)? {
            if line.offset == 0 {
                break;
            }
            let raw = line.as_raw();
            if raw.is_torn() || raw.is_blank() {
                continue;
            }
            let outline = match Outline::read(raw.bytes) {
                Ok(Some(outline)) => outline,
                Ok(None) => continue,
                // Whoever loads the session fails there, too, and knows which line it is.
                Err(_) => {
                    read::file(window.file(), places)?;
                    continue;
                }
            };
            let written = outline.at.as_ref().and_then(|at| decode::time(&at.0).ok());
            let mark = outline.mark();
            let modified = written.or_else(|| file_time(&window));
            return Ok(Self {
                modified: modified.unwrap_or(header.created),
                mark,
                header,
                window,
            });
        }
        Ok(Self {
            modified: header.created,
            mark: Some(Mark::default()),
            header,
            window,
        })
    }

    /// What the mark leads to; `None` if there is none, or it is wrong.
    fn marked(&self) -> std::io::Result<Option<Branch>> {
        let Some(mark) = self.mark else {
            return Ok(None);
        };
        let user = match mark.user_at {
            Some(at) => match self.message_at(at, Role::User)? {
                Some(message) => Some(message.text()),
                None => return Ok(None),
            },
            None => None,
        };
        let origin = match mark.origin_at {
            Some(at) => match self.message_at(at, Role::Assistant)? {
                Some(message) => message.origin.map(|origin| Origin::clone(&origin)),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(Branch {
            message_count: mark.n,
            last_user_message: user,
            origin,
        }))
    }

    fn message_at(&self, offset: u64, role: Role) -> std::io::Result<Option<Message>> {
        let Some(line) = self.window.line_at(offset)? else {
            return Ok(None);
        };
        let context = Context {
            files: Path::new(""),
            previous: None,
            created: self.header.created,
        };
        Ok(match decode::record(&line.bytes, &context) {
            Ok(Some(Record::Message(message))) if message.role == role => Some(message),
            _ => None,
        })
    }
}

/// Reads a whole session that another program wrote or changed.
fn whole_branch(window: &Window, places: &Places) -> Result<Branch, SessionError> {
    let branch = read::file(window.file(), places)?.tree.branch();
    let last = |role| branch.iter().rev().filter(move |m| m.role == role);
    Ok(Branch {
        message_count: branch.len() as u64,
        last_user_message: last(Role::User).next().map(|message| message.text()),
        origin: last(Role::Assistant)
            .find_map(|message| message.origin.as_deref())
            .cloned(),
    })
}

fn file_time(window: &Window) -> Option<Timestamp> {
    let modified = window.file().metadata().ok()?.modified().ok()?;
    Timestamp::try_from(modified).ok()
}

impl OwnedLine {
    /// The line as others look at it; its number is not known.
    pub(super) fn as_raw(&self) -> RawLine<'_> {
        RawLine {
            number: 0,
            offset: self.offset,
            bytes: &self.bytes,
            complete: self.complete,
            last: self.last,
        }
    }
}
