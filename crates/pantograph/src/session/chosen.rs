//! Which messages of a branch somebody asked for.

use super::LoadOptions;
use crate::message::{Message, Role};

/// What was chosen so far.
pub(super) struct Chosen<'o> {
    options: &'o LoadOptions,
    pub(super) messages: Vec<Message>,
    bytes: u64,
    pub(super) is_full: bool,
}

impl<'o> Chosen<'o> {
    pub(super) fn new(options: &'o LoadOptions) -> Self {
        Self {
            options,
            messages: Vec::new(),
            bytes: 0,
            is_full: options.limit == Some(0),
        }
    }

    /// Whether a message of this role can be wanted at all.
    pub(super) fn wants_role(&self, role: Option<&str>) -> bool {
        let wanted = self.options.role.map(Role::as_str);
        wanted.is_none() || wanted == role
    }

    /// Takes a message of `size` stored bytes if it is wanted and fits.
    pub(super) fn offer(&mut self, message: Message, size: usize) {
        let options = self.options;
        let has_key = |key: &String| message.metadata.contains_key(key);
        if !options.metadata_key.as_ref().is_none_or(has_key) {
            return;
        }
        self.bytes = self.bytes.saturating_add(size as u64);
        let over = options.max_bytes.is_some_and(|max| self.bytes > max);
        if over && !self.messages.is_empty() {
            self.is_full = true;
            return;
        }
        self.messages.push(message);
        self.is_full = over || options.limit == Some(self.messages.len());
    }
}
