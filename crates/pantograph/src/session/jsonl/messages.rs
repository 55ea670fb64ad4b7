//! Reading some messages of a session's current branch.

use std::collections::HashMap;
use std::fs::File;

use jiff::Timestamp;

use super::decode::{self, Context};
use super::disk::io_error;
use super::line::{Line, lines};
use super::outline::Outline;
use super::places::Places;
use super::read;
use super::window::Window;
use crate::ids::MessageId;
use crate::message::{Message, Metadata};
use crate::session::chosen::Chosen;
use crate::session::{LoadOptions, Record, SessionError};

/// Reads the messages that `options` ask for, oldest first.
pub(super) fn load(
    file: File,
    places: &Places,
    options: &LoadOptions,
) -> Result<Vec<Message>, SessionError> {
    let failed = |source| io_error("read", &places.path, source);
    let window = Window::new(file).map_err(failed)?;
    let first = window.line_at(0).map_err(failed)?;
    let header = read::header(first.as_ref(), places)?;
    let mut messages = match options.from_end {
        true => from_end(&window, places, header.created, options).map_err(failed)?,
        false => None,
    };
    if messages.is_none() {
        messages = Some(from_whole(&window, places, header.created, options)?);
    }
    let mut messages = messages.unwrap_or_default();
    if options.from_end {
        messages.reverse();
    }
    Ok(messages)
}

/// What is looked for on the way back.
enum Next {
    /// The head, which no record has named yet.
    Head,
    /// Whatever message or compaction comes next.
    Any,
    /// This one, the target of a head record or a parent.
    Id(MessageId),
}

/// Reads backwards; the messages are newest first.
///
/// `Ok(None)` if the file is not as simple as this way needs it: a bad line, or an id that no
/// line has.
fn from_end(
    window: &Window,
    places: &Places,
    created: Timestamp,
    options: &LoadOptions,
) -> std::io::Result<Option<Vec<Message>>> {
    let mut chosen = Chosen::new(options);
    let mut next = Next::Head;
    let mut metadata: HashMap<MessageId, Metadata> = HashMap::new();
    let context = Context {
        files: Some(&places.files),
        previous: None,
        created,
    };
    let mut lines = window.backwards();
    while !chosen.is_full {
        let Some(line) = lines.next()?.filter(|line| line.offset > 0) else {
            // The beginning, and what was looked for did not come.
            let found = !matches!(next, Next::Id(_));
            return Ok(found.then_some(chosen.messages));
        };
        if line.is_torn() || line.is_blank() {
            continue;
        }
        let outline = match Outline::read(&line.bytes) {
            Ok(Some(outline)) => outline,
            Ok(None) => continue,
            Err(_) => return Ok(None),
        };
        match &*outline.kind.0 {
            "metadata" => match decode::record(&line.bytes, &context) {
                Ok(Some(Record::Metadata {
                    target,
                    metadata: set,
                    ..
                })) => {
                    metadata.entry(target).or_insert(set);
                }
                _ => return Ok(None),
            },
            "head" => match (&next, outline.target) {
                (Next::Head, Some(Some(target))) => next = Next::Id(MessageId::new(&*target.0)),
                (Next::Head, Some(None)) => return Ok(Some(chosen.messages)),
                (_, Some(_)) => {}
                (_, None) => return Ok(None),
            },
            "message" | "compaction" => {
                let Some(id) = &outline.id else {
                    return Ok(None);
                };
                if matches!(&next, Next::Id(wanted) if wanted.as_str() != id.0) {
                    continue;
                }
                let role = outline.role.as_ref().map(|role| &*role.0);
                if outline.kind.0 == "message" && chosen.wants_role(role) {
                    if outline.parent.is_none() {
                        // The message must name its parent, which is not known here.
                        return Ok(None);
                    }
                    let Ok(Some(Record::Message(mut message))) =
                        decode::record(&line.bytes, &context)
                    else {
                        return Ok(None);
                    };
                    if let Some(set) = metadata.remove(&message.id) {
                        message.metadata = set;
                    }
                    chosen.offer(message, line.bytes.len());
                }
                next = match outline.parent {
                    None => Next::Any,
                    Some(Some(parent)) => Next::Id(MessageId::new(&*parent.0)),
                    Some(None) => break,
                };
            }
            _ => {}
        }
    }
    Ok(Some(chosen.messages))
}

/// A message or compaction, and where it is.
struct Node<'a> {
    line: Line<&'a [u8]>,
    previous: Option<MessageId>,
    parent: Option<usize>,
    is_wanted: bool,
    metadata: Option<Metadata>,
}

/// Looks at every line and decodes those that are wanted, in the order in which they are counted.
fn from_whole(
    window: &Window,
    places: &Places,
    created: Timestamp,
    options: &LoadOptions,
) -> Result<Vec<Message>, SessionError> {
    let bytes = read::bytes(window.file(), &places.path)?;
    let mut chosen = Chosen::new(options);
    let mut nodes = nodes(&bytes, places, created, &chosen)?;
    let mut path = nodes.path;
    if options.from_end {
        path.reverse();
    }
    for position in path {
        if chosen.is_full {
            break;
        }
        let node = &mut nodes.all[position];
        if !node.is_wanted {
            continue;
        }
        let context = Context {
            files: Some(&places.files),
            previous: node.previous.as_ref(),
            created,
        };
        let record = decode::record(node.line.bytes, &context)
            .map_err(|fault| corrupt(places, node.line, fault))?;
        if let Some(Record::Message(mut message)) = record {
            if let Some(set) = node.metadata.take() {
                message.metadata = set;
            }
            chosen.offer(message, node.line.bytes.len());
        }
    }
    Ok(chosen.messages)
}

struct Nodes<'a> {
    all: Vec<Node<'a>>,
    /// The current branch, from its beginning.
    path: Vec<usize>,
}

/// Builds the tree without its contents. The rules are those of
/// [`crate::session::SessionTree::apply`].
fn nodes<'a>(
    bytes: &'a [u8],
    places: &Places,
    created: Timestamp,
    chosen: &Chosen<'_>,
) -> Result<Nodes<'a>, SessionError> {
    let mut all: Vec<Node<'a>> = Vec::new();
    let mut index: HashMap<MessageId, usize> = HashMap::new();
    let mut head = None;
    let mut previous: Option<MessageId> = None;
    for line in lines(bytes).skip(1) {
        if line.is_torn() || line.is_blank() {
            continue;
        }
        let outline = match Outline::read(line.bytes) {
            Ok(Some(outline)) => outline,
            Ok(None) => continue,
            Err(fault) => return Err(corrupt(places, line, fault)),
        };
        if outline.is_node() {
            let Some(id) = &outline.id else {
                return Err(corrupt(
                    places,
                    line,
                    decode::Fault::new("missing field `id`"),
                ));
            };
            let id = MessageId::new(&*id.0);
            let parent = match &outline.parent {
                Some(parent) => parent
                    .as_ref()
                    .and_then(|parent| index.get(&MessageId::new(&*parent.0))),
                None => previous.as_ref().and_then(|id| index.get(id)),
            };
            let role = outline.role.as_ref().map(|role| &*role.0);
            all.push(Node {
                line,
                previous: previous.replace(id.clone()),
                parent: parent.copied(),
                is_wanted: outline.kind.0 == "message" && chosen.wants_role(role),
                metadata: None,
            });
            head = Some(all.len() - 1);
            index.insert(id, all.len() - 1);
            continue;
        }
        let context = Context {
            files: Some(&places.files),
            previous: None,
            created,
        };
        match decode::record(line.bytes, &context).map_err(|fault| corrupt(places, line, fault))? {
            Some(Record::Head { target: None, .. }) => head = None,
            Some(Record::Head {
                target: Some(target),
                ..
            }) => head = index.get(&target).copied().or(head),
            Some(Record::Metadata {
                target, metadata, ..
            }) => {
                if let Some(&position) = index.get(&target) {
                    all[position].metadata = Some(metadata);
                }
            }
            _ => {}
        }
    }
    let mut path: Vec<usize> = std::iter::successors(head, |&at| all[at].parent).collect();
    path.reverse();
    Ok(Nodes { all, path })
}

fn corrupt(places: &Places, line: Line<&[u8]>, fault: decode::Fault) -> SessionError {
    SessionError::Corrupt {
        path: places.path.clone(),
        line: line.number,
        column: fault.column,
        message: fault.message,
    }
}
