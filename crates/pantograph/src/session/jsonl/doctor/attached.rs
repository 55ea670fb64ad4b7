//! Whether the attachments that records name are there, and are what they were.

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::session::Record;
use crate::session::jsonl::attachments;
use crate::session::jsonl::directory::hex;

/// What is wrong with an attachment.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    /// The name of its file.
    pub(super) name: String,
    /// What is wrong.
    pub(super) what: String,
    /// What that means, for nothing can be done about it.
    pub(super) consequence: &'static str,
}

/// Remembers the files that were looked at: many records can name one.
#[derive(Default)]
pub(super) struct Checked(HashMap<String, Option<Fault>>);

impl Checked {
    /// What is wrong with the stored attachments of a record.
    pub(super) fn faults(&mut self, record: &Record) -> Vec<Fault> {
        let stored = attachments::of(record)
            .into_iter()
            .filter_map(|attachment| attachment.path());
        stored.filter_map(|path| self.fault(path)).collect()
    }

    fn fault(&mut self, path: &Path) -> Option<Fault> {
        let name = path.file_name()?.to_str()?.to_owned();
        let checked = self.0.entry(name);
        let name = checked.key().clone();
        checked.or_insert_with(|| check(path, name)).clone()
    }
}

fn check(path: &Path, name: String) -> Option<Fault> {
    let (what, consequence) = match attachments::read(path) {
        Ok(data) if hex(&Sha256::digest(&data)) == name => return None,
        Ok(data) => (
            format!(
                "its attachment `{name}` was cut off or changed: {} bytes are there",
                data.len()
            ),
            "it stays, and is used as it is",
        ),
        Err(error) => (
            format!("its attachment `{name}` cannot be read: {error}"),
            "it stays named; the session loads, but whatever needs these bytes fails",
        ),
    };
    Some(Fault {
        name,
        what,
        consequence,
    })
}
