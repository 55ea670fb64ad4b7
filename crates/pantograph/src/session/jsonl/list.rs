//! Describing sessions from the first line of a file, its last, and two that the last one names.

use std::cmp::Reverse;
use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::decode::{self, Context};
use super::disk::{self, Access, io_error};
use super::lookup;
use super::marks::Mark;
use super::outline::Outline;
use super::places::Places;
use super::read;
use super::window::Window;
use crate::ids::SessionId;
use crate::message::{Message, Origin, Role};
use crate::session::{Header, Record, SessionError, SessionInfo};

/// What [`crate::session::FileSystemJsonlStore::survey`] finds.
#[derive(Debug)]
pub struct Survey {
    /// The sessions that can be read, last modified first.
    pub sessions: Vec<SessionInfo>,
    /// The others, in the order of their ids, each with what stands in the way.
    pub unreadable: Vec<(SessionId, SessionError)>,
}

impl Survey {
    /// The sessions; what cannot be read goes to the log.
    pub(super) fn logged(self) -> Vec<SessionInfo> {
        log(&self.unreadable);
        self.sessions
    }
}

/// Describes all sessions of a directory.
pub(super) fn survey(directory: &Path) -> Result<Survey, SessionError> {
    let (mut sessions, unreadable) = each(directory, describe)?;
    sessions.sort_by_key(|info| Reverse((info.modified, info.id)));
    Ok(Survey {
        sessions,
        unreadable,
    })
}

/// Describes the `limit` sessions that were modified last, in that order.
pub(super) fn list_bounded(
    directory: &Path,
    limit: usize,
) -> Result<Vec<SessionInfo>, SessionError> {
    let (mut times, mut unreadable) = each(directory, modified)?;
    times.sort_unstable_by_key(|&time| Reverse(time));
    let mut infos = Vec::new();
    for (_, id) in times {
        if infos.len() == limit {
            break;
        }
        match describe(&Places::new(directory, id)) {
            Ok(info) => infos.push(info),
            Err(error) => unreadable.push((id, error)),
        }
    }
    log(&unreadable);
    Ok(infos)
}

/// The session that was modified last.
///
/// # Errors
///
/// The file that was modified last is none that can be read.
pub(super) fn latest(directory: &Path) -> Result<Option<SessionId>, SessionError> {
    let (times, unreadable) = each(directory, modified)?;
    let latest = times.into_iter().max().map(|(_, id)| id);
    let file_time = |id: SessionId| {
        let metadata = std::fs::symlink_metadata(Places::new(directory, id).path);
        metadata.and_then(|metadata| metadata.modified()).ok()
    };
    // One that cannot be read has no other time than its file's, so files are compared.
    let readable = latest.and_then(file_time);
    let later = unreadable
        .into_iter()
        .map(|(id, error)| (file_time(id), error))
        .filter(|(time, _)| latest.is_none() || *time > readable)
        .max_by_key(|&(time, _)| time);
    match later {
        Some((_, error)) => Err(error),
        None => Ok(latest),
    }
}

/// What was read, and what could not be.
type Each<T> = (Vec<T>, Vec<(SessionId, SessionError)>);

/// Reads every session of a directory, on as many threads as pay: most of the time goes into
/// system calls.
fn each<T: Send>(
    directory: &Path,
    read: impl Fn(&Places) -> Result<T, SessionError> + Sync,
) -> Result<Each<T>, SessionError> {
    const MAX_THREADS: usize = 4;
    const IDS_A_THREAD: usize = 256;
    let ids = lookup::ids(directory)?;
    let read_part = |part: &[SessionId]| {
        let mut each = Each::default();
        for &id in part {
            match read(&Places::new(directory, id)) {
                Ok(item) => each.0.push(item),
                Err(error) if is_gone(&error) => {}
                Err(error) => each.1.push((id, error)),
            }
        }
        each
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(ids.len() / IDS_A_THREAD);
    if threads < 2 {
        return Ok(read_part(&ids));
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = ids
            .chunks(ids.len().div_ceil(threads))
            .map(|part| scope.spawn(|| read_part(part)))
            .collect();
        let mut all = Each::default();
        for part in parts {
            match part.join() {
                Ok((items, unreadable)) => {
                    all.0.extend(items);
                    all.1.extend(unreadable);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

/// Whether the session was removed after its name was read.
fn is_gone(error: &SessionError) -> bool {
    matches!(error, SessionError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

fn log(unreadable: &[(SessionId, SessionError)]) {
    for (id, error) in unreadable {
        let error = crate::error::with_causes(error);
        tracing::warn!(%id, %error, "left out of the list");
    }
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
        let header = read::header(first.as_ref(), places)?;
        let mut lines = window.backwards();
        while let Some(line) = lines.next().map_err(failed)? {
            if line.offset == 0 {
                break;
            }
            if line.is_torn() || line.is_blank() {
                continue;
            }
            let outline = match Outline::read(&line.bytes) {
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
            files: Some(Path::new("")),
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
