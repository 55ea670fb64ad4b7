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
/// One that is past them by itself takes no other's place.
pub(super) fn leave_out_oldest(turns: &mut [Turn<'_>], limits: FileLimits) {
    let mut files = 0;
    let mut bytes = 0;
    // What stands for a file that does not fit.
    let mut words = |file: &File| {
        let why = if file.data.len() > limits.max_bytes {
            "it is too large to be sent"
        } else {
            files += 1;
            bytes += file.data.len();
            if files <= limits.max_files && bytes <= limits.max_bytes {
                return None;
            }
            "no more fit into one request, and later ones count more"
        };
        Some(Cow::Owned(attachment::left_out(&file.media_type, why)))
    };
    for part in turns
        .iter_mut()
        .rev()
        .flat_map(|t| t.parts.iter_mut().rev())
    {
        match part {
            Part::File(file) => {
                if let Some(text) = words(file) {
                    *part = Part::Text { text, raw: None };
                }
            }
            Part::Result(result) => {
                for content in result.content.iter_mut().rev() {
                    if let Content::File(file) = content
                        && let Some(text) = words(file)
                    {
                        *content = Content::Text(text);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Speaker;

    /// What becomes of files of so many bytes in a request that takes two, and ten bytes.
    fn sent(sizes: &[usize]) -> Vec<&'static str> {
        let parts = sizes.iter().map(|&size| {
            Part::File(File {
                media_type: "image/png".into(),
                data: "x".repeat(size),
            })
        });
        let mut turns = [Turn {
            speaker: Speaker::User,
            parts: parts.collect(),
        }];
        let limits = FileLimits {
            max_files: 2,
            max_bytes: 10,
            ..FileLimits::NONE
        };
        leave_out_oldest(&mut turns, limits);
        let word = |part: &Part<'_>| match part {
            Part::Text { text, .. } if text.contains("too large") => "too large",
            Part::Text { .. } => "older",
            _ => "sent",
        };
        turns[0].parts.iter().map(word).collect()
    }

    #[test]
    fn the_latest_files_that_fit_stay() {
        assert_eq!(sent(&[5, 5]), ["sent", "sent"]);
        assert_eq!(sent(&[1, 1, 1]), ["older", "sent", "sent"]);
        assert_eq!(sent(&[1, 6, 5]), ["older", "older", "sent"]);
    }

    #[test]
    fn one_that_is_too_large_takes_no_place() {
        assert_eq!(sent(&[5, 5, 11]), ["sent", "sent", "too large"]);
        assert_eq!(sent(&[5, 11, 5]), ["sent", "too large", "sent"]);
    }
}
