//! Checked values before they are typed: what layers are merged as.

use std::collections::BTreeMap;

use super::sourced::{Source, Sourced};

/// A value of a checked file, or of several merged.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Table(Table),
    Leaf(Sourced<toml::Value>),
}

/// A table, with the place of the highest layer that has it.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) source: Source,
    pub(super) entries: BTreeMap<String, Node>,
}

/// Where a key may come from, only one at a time: setting one in a later layer ends the other.
const EXCLUSIVE: (&str, &str) = ("api_key_env", "api_key_command");

impl Table {
    pub(super) fn empty() -> Self {
        Self {
            source: Source::Default,
            entries: BTreeMap::new(),
        }
    }

    /// Lays `over` over this one: tables key by key, any other value replaces.
    ///
    /// `path` is the keys that lead here, each with a dot after it.
    pub(super) fn merge(&mut self, over: Table, path: &str) {
        if path.starts_with("providers.") && path.matches('.').count() == 2 {
            let (a, b) = EXCLUSIVE;
            if over.entries.contains_key(a) {
                self.entries.remove(b);
            } else if over.entries.contains_key(b) {
                self.entries.remove(a);
            }
        }
        self.source = over.source;
        for (key, node) in over.entries {
            match (self.entries.get_mut(&key), node) {
                (Some(Node::Table(below)), Node::Table(above)) => {
                    below.merge(above, &format!("{path}{key}."));
                }
                (_, node) => {
                    self.entries.insert(key, node);
                }
            }
        }
    }

    /// Takes the table `key` out; an empty one if there is none.
    pub(super) fn take_table(&mut self, key: &str) -> Table {
        match self.entries.remove(key) {
            Some(Node::Table(table)) => table,
            _ => Table::empty(),
        }
    }

    /// Takes the value `key` out, read by `read`.
    ///
    /// Files are checked before they are merged, so a value that does not fit is not met here.
    pub(super) fn take<T>(
        &mut self,
        key: &str,
        read: impl Fn(&toml::Value) -> Option<T>,
    ) -> Option<Sourced<T>> {
        match self.entries.remove(key) {
            Some(Node::Leaf(leaf)) => Some(Sourced {
                value: read(&leaf.value)?,
                source: leaf.source,
            }),
            _ => None,
        }
    }
}

impl Node {
    /// The value with the place of its highest layer.
    pub(super) fn into_value(self) -> Sourced<toml::Value> {
        match self {
            Node::Leaf(leaf) => leaf,
            Node::Table(table) => {
                let entries = table.entries.into_iter();
                let values = entries.map(|(key, node)| (key, node.into_value().value));
                Sourced {
                    value: toml::Value::Table(values.collect()),
                    source: table.source,
                }
            }
        }
    }
}
