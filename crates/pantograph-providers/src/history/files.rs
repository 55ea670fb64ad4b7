//! The attachments of a whole request.

use std::borrow::Cow;

use pantograph::protocol::Request;
use pantograph::{Attachment, Block, ToolContent};

use super::{Content, Part, Turn};
use crate::attachment::{self, File, FileLimits};

/// Whether any attachment lies in a file, so that reading the conversation blocks.
pub(crate) fn reads_files(request: &Request) -> bool {
    all(request).any(|attachment| attachment.path().is_some())
}

/// The attachments of users and tools.
pub(super) fn all(request: &Request) -> impl Iterator<Item = &Attachment> {
    let messages = request.conversation.messages().iter();
    let blocks = messages.flat_map(|message| &message.blocks);
    blocks.flat_map(|block| {
        let (own, content) = match block {
            Block::Attachment(attachment) => (Some(attachment), &[][..]),
            Block::ToolResult(result) => (None, &result.content[..]),
            _ => (None, &[][..]),
        };
        let of_tools = content.iter().filter_map(|part| match part {
            ToolContent::Attachment(attachment) => Some(attachment),
            ToolContent::Text(_) => None,
        });
        own.into_iter().chain(of_tools)
    })
}

/// Puts words in the place of files from the oldest on, until the others are within the limits.
pub(super) fn leave_out_oldest(turns: &mut [Turn<'_>], limits: FileLimits) {
    let mut files = 0;
    let mut bytes = 0;
    let mut fits = |file: &File| {
        files += 1;
        bytes += file.data.len();
        files <= limits.max_files && bytes <= limits.max_bytes
    };
    let left_out = |file: &File| {
        Cow::Owned(attachment::left_out(
            &file.media_type,
            "no more fit into one request, and later ones count more",
        ))
    };
    for part in turns
        .iter_mut()
        .rev()
        .flat_map(|t| t.parts.iter_mut().rev())
    {
        match part {
            Part::File(file) if !fits(file) => {
                let text = left_out(file);
                *part = Part::Text { text, raw: None };
            }
            Part::Result(result) => {
                for content in result.content.iter_mut().rev() {
                    if let Content::File(file) = content
                        && !fits(file)
                    {
                        *content = Content::Text(left_out(file));
                    }
                }
            }
            _ => {}
        }
    }
}
