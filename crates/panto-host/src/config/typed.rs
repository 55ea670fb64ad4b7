//! From a checked table to typed values.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pantograph::Price;
use toml::Value;

use super::provider::{Flags, Headers, ModelSettings, Provider};
use super::sourced::{Source, Sourced};
use super::tree::{Node, Table};
use super::values::{CompactionSettings, Config, ExtensionSettings, ToolSettings};

impl Config {
    /// Types the merged layers; what nobody set has its default.
    pub(super) fn from_table(mut root: Table) -> Self {
        let providers = tables(root.take_table("providers"));
        Self {
            model: root.take("model", text),
            reasoning: root.take("reasoning", text),
            providers: providers
                .map(|(name, table)| (name.clone(), provider(name, table)))
                .collect(),
            tools: tools(root.take_table("tools")),
            compaction: compaction(root.take_table("compaction")),
            extensions: extensions(root.take_table("extensions")),
            files: Vec::new(),
            user_file: None,
        }
    }
}

fn provider(name: String, mut table: Table) -> Provider {
    let headers = table.take_table("headers").entries.into_iter();
    let headers = headers.filter_map(|(name, node)| match node {
        Node::Leaf(leaf) => {
            let value = text(&leaf.value)?;
            Some((
                name,
                Sourced {
                    value,
                    source: leaf.source,
                },
            ))
        }
        Node::Table(_) => None,
    });
    let flags = table.take_table("flags").entries.into_iter();
    let flags = flags.map(|(name, node)| (name, node.into_value()));
    Provider {
        name,
        protocol: table.take("protocol", text),
        base_url: table.take("base_url", text),
        server: table.take("server", text),
        api_key_env: table.take("api_key_env", text),
        api_key_command: table.take("api_key_command", texts),
        headers: Headers(headers.collect()),
        flags: Flags(flags.collect()),
        connect_timeout: table.take("connect_timeout_s", seconds),
        idle_timeout: table.take("idle_timeout_s", seconds),
        request_timeout: table.take("request_timeout_s", seconds),
        max_retries: table.take("max_retries", |value| value.as_integer()?.try_into().ok()),
        script: table.take("script", text).map(|path| path.map(beside)),
        models: tables(table.take_table("models"))
            .map(|(alias, table)| (alias, model(table)))
            .collect(),
        source: table.source,
    }
}

fn model(mut table: Table) -> ModelSettings {
    ModelSettings {
        id: table.take("id", text),
        context_window: table.take("context_window", tokens),
        max_output: table.take("max_output", tokens),
        reasoning: table.take("reasoning", texts),
        reasoning_control: table.take("reasoning_control", text),
        attachments: table.take("attachments", Value::as_bool),
        forced_tool: table.take("forced_tool", text),
        price: price(table.take_table("price")),
        source: table.source,
    }
}

/// The price; `None` if no part of it is set.
fn price(mut table: Table) -> Option<Price> {
    let mut part = |key| table.take(key, number).map(|part| part.value);
    let price = Price {
        input: part("input"),
        output: part("output"),
        cache_read: part("cache_read"),
        cache_write: part("cache_write"),
    };
    let parts = [
        price.input,
        price.output,
        price.cache_read,
        price.cache_write,
    ];
    parts.iter().any(Option::is_some).then_some(price)
}

fn tools(mut table: Table) -> ToolSettings {
    let default = ToolSettings::default();
    ToolSettings {
        ask: table.take("ask", texts).unwrap_or(default.ask),
    }
}

fn compaction(mut table: Table) -> CompactionSettings {
    let default = CompactionSettings::default();
    CompactionSettings {
        auto: table.take("auto", Value::as_bool).unwrap_or(default.auto),
    }
}

fn extensions(mut table: Table) -> ExtensionSettings {
    let default = ExtensionSettings::default();
    let settings = table.take_table("settings").entries.into_iter();
    ExtensionSettings {
        allow: table.take("allow", texts).unwrap_or(default.allow),
        deny: table.take("deny", texts).unwrap_or(default.deny),
        paths: table
            .take("paths", texts)
            .map(|paths| paths.map(|paths, _| paths.into_iter().map(PathBuf::from).collect()))
            .unwrap_or(default.paths),
        rocks: table.take("rocks", texts).unwrap_or(default.rocks),
        rocks_server: table.take("rocks_server", text),
        settings: settings
            .map(|(name, node)| (name, node.into_value()))
            .collect(),
    }
}

/// The tables of a table of tables.
fn tables(table: Table) -> impl Iterator<Item = (String, Table)> {
    table
        .entries
        .into_iter()
        .filter_map(|(name, node)| match node {
            Node::Table(table) => Some((name, table)),
            Node::Leaf(_) => None,
        })
}

/// A path that starts at the directory of the file that names it.
fn beside(path: String, source: &Source) -> PathBuf {
    let file = source.place().map(|place| place.file.as_ref());
    match file.and_then(Path::parent) {
        Some(directory) => directory.join(path),
        None => PathBuf::from(path),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|n| n as f64))
}

fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(number(value)?).ok()
}

fn tokens(value: &Value) -> Option<u64> {
    value.as_integer()?.try_into().ok()
}
