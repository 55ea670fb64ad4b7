//! Events as Lua tables: `type` is the event's name, the other fields are those of the core.
//!
//! A delta's table also has the block's whole text up to it (`text`, or `input` of a tool call),
//! which becomes a Lua string only when it is read.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Lua, LuaString, Table, Value};
use pantograph::{Event, Outcome, ProviderError, ToolStatus, TurnError, UsageTotal, with_causes};

use crate::message::usage_table;
use crate::module::object_to_lua;

/// Makes Lua tables of one turn's events, in order, as `stream:next()` gives them.
#[derive(Default)]
pub struct EventTables {
    /// The blocks that are growing. Few: a provider streams one, seldom some, at a time.
    growing: Vec<Growing>,
}

/// A block that has not ended.
struct Growing {
    kind: Kind,
    index: u32,
    text: Rc<RefCell<String>>,
    /// Of the block's delta tables, once there is one.
    metatable: Option<Table>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Thinking,
    Text,
    Input,
}

impl Kind {
    /// The field with the whole text.
    fn field(self) -> &'static str {
        match self {
            Kind::Thinking | Kind::Text => "text",
            Kind::Input => "input",
        }
    }
}

impl EventTables {
    /// The table of the next event.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn table(&mut self, lua: &Lua, event: &Event) -> mlua::Result<Table> {
        self.shortened(lua, event, 0)
    }

    /// Takes note of an event whose table nobody wants: later ones have the whole text all the same.
    pub fn skip(&mut self, event: &Event) {
        match event {
            Event::ThinkingDelta { index, delta } => self.grow(Kind::Thinking, *index, delta),
            Event::AssistantTextDelta { index, delta } => self.grow(Kind::Text, *index, delta),
            Event::ToolDelta { index, delta, .. } => self.grow(Kind::Input, *index, delta),
            Event::ThinkingComplete { index, .. } => self.complete(Kind::Thinking, *index),
            Event::AssistantTextComplete { index, .. } => self.complete(Kind::Text, *index),
            Event::ToolCallComplete { index, .. } => self.complete(Kind::Input, *index),
            Event::Usage { .. } | Event::AttemptDiscarded { .. } | Event::Settled(_) => {
                self.growing.clear();
            }
            _ => {}
        }
    }

    /// The same of an event of whose delta `omitted` bytes were left out.
    pub(crate) fn shortened(
        &mut self,
        lua: &Lua,
        event: &Event,
        omitted: u64,
    ) -> mlua::Result<Table> {
        let table = lua.create_table_with_capacity(0, 6)?;
        table.raw_set("type", event.name())?;
        if omitted > 0 {
            table.raw_set("omitted_bytes", omitted)?;
        }
        match event {
            Event::TurnStart { turn_id } => table.raw_set("turn_id", turn_id.to_string())?,
            Event::UserMessage { id, text } => {
                table.raw_set("id", id.as_str())?;
                table.raw_set("text", text.as_str())?;
            }
            Event::Thinking { index } | Event::AssistantText { index } | Event::Tool { index } => {
                table.raw_set("index", *index)?;
            }
            Event::ThinkingDelta { index, delta } => {
                self.delta(lua, &table, Kind::Thinking, *index, delta)?;
            }
            Event::AssistantTextDelta { index, delta } => {
                self.delta(lua, &table, Kind::Text, *index, delta)?;
            }
            Event::ThinkingComplete { index, text } => {
                self.complete(Kind::Thinking, *index);
                table.raw_set("index", *index)?;
                table.raw_set("text", &**text)?;
            }
            Event::AssistantTextComplete { index, text } => {
                self.complete(Kind::Text, *index);
                table.raw_set("index", *index)?;
                table.raw_set("text", &**text)?;
            }
            Event::ToolDetails {
                index,
                id,
                tool_name,
            } => {
                table.raw_set("index", *index)?;
                call(&table, id, tool_name)?;
            }
            Event::ToolDelta {
                index,
                id,
                tool_name,
                delta,
            } => {
                call(&table, id, tool_name)?;
                self.delta(lua, &table, Kind::Input, *index, delta)?;
            }
            Event::ToolCallComplete {
                index,
                id,
                tool_name,
                input,
            } => {
                self.complete(Kind::Input, *index);
                table.raw_set("index", *index)?;
                call(&table, id, tool_name)?;
                table.raw_set("input", &**input)?;
            }
            Event::ToolDispatchStart {
                id,
                tool_name,
                batch_id,
            } => {
                call(&table, id, tool_name)?;
                table.raw_set("batch_id", batch_id.to_string())?;
            }
            Event::ToolOutputDelta {
                id,
                tool_name,
                delta,
            } => {
                call(&table, id, tool_name)?;
                table.raw_set("delta", delta.as_str())?;
            }
            Event::ToolResult {
                id,
                tool_name,
                output,
                status,
                details,
            } => {
                call(&table, id, tool_name)?;
                table.raw_set("output", &**output)?;
                table.raw_set("result_ok", *status == ToolStatus::Ok)?;
                table.raw_set("status", status.as_str())?;
                if !details.is_empty() {
                    table.raw_set("details", object_to_lua(lua, details)?)?;
                }
            }
            Event::Usage {
                message_id: _,
                usage,
                cost,
            } => {
                self.growing.clear();
                table.raw_set("usage", usage_table(lua, usage)?)?;
                table.raw_set("cost", *cost)?;
            }
            Event::Paused { delay } => table.raw_set("delay_ms", milliseconds(*delay))?,
            Event::Retry {
                attempt,
                max_retries,
                delay,
                error,
            } => {
                table.raw_set("attempt", *attempt)?;
                table.raw_set("max_retries", *max_retries)?;
                table.raw_set("delay_ms", milliseconds(*delay))?;
                provider_error(&table, error)?;
            }
            Event::AttemptDiscarded { error } => {
                self.growing.clear();
                provider_error(&table, error)?;
            }
            Event::CompactionStart { tokens_before } => {
                table.raw_set("tokens_before", *tokens_before)?;
            }
            Event::CompactionEnd {
                tokens_before,
                tokens_after,
                cancelled,
                error,
            } => {
                table.raw_set("tokens_before", *tokens_before)?;
                table.raw_set("tokens_after", *tokens_after)?;
                table.raw_set("cancelled", *cancelled)?;
                turn_error(&table, error.as_ref())?;
            }
            Event::Settled(outcome) => {
                self.growing.clear();
                settled(lua, &table, outcome)?;
            }
            // A core that is newer than this: the name alone is better than nothing.
            _ => {}
        }
        Ok(table)
    }

    fn delta(
        &mut self,
        lua: &Lua,
        table: &Table,
        kind: Kind,
        index: u32,
        delta: &str,
    ) -> mlua::Result<()> {
        let block = self.growing(kind, index);
        block.text.borrow_mut().push_str(delta);
        let total = block.text.borrow().len();
        let metatable = block.metatable(lua)?;
        table.raw_set("index", index)?;
        table.raw_set("delta", delta)?;
        table.raw_set("total_bytes", total)?;
        table.set_metatable(Some(metatable))
    }

    fn grow(&mut self, kind: Kind, index: u32, delta: &str) {
        self.growing(kind, index).text.borrow_mut().push_str(delta);
    }

    fn growing(&mut self, kind: Kind, index: u32) -> &mut Growing {
        let position = self.position(kind, index).unwrap_or_else(|| {
            self.growing.push(Growing {
                kind,
                index,
                text: Rc::default(),
                metatable: None,
            });
            self.growing.len() - 1
        });
        &mut self.growing[position]
    }

    fn complete(&mut self, kind: Kind, index: u32) {
        if let Some(position) = self.position(kind, index) {
            self.growing.swap_remove(position);
        }
    }

    fn position(&self, kind: Kind, index: u32) -> Option<usize> {
        self.growing
            .iter()
            .position(|block| block.kind == kind && block.index == index)
    }
}

impl Growing {
    /// The metatable of its delta tables, which make the whole text when it is read.
    fn metatable(&mut self, lua: &Lua) -> mlua::Result<Table> {
        if let Some(metatable) = &self.metatable {
            return Ok(metatable.clone());
        }
        let kind = self.kind;
        let whole = Rc::clone(&self.text);
        let read = lua.create_function(move |lua, (event, key): (Table, Value)| {
            let is_field = key.as_string().is_some_and(|key| *key == kind.field());
            let total: Option<usize> = event.raw_get("total_bytes")?;
            // The event is the reader's to change, so its length may be anything by now.
            let text = total.and_then(|total| whole.borrow().get(..total).map(str::to_owned));
            match text {
                Some(text) if is_field => Ok(Some(lua.create_string(text)?)),
                _ => Ok(None::<LuaString>),
            }
        })?;
        let metatable = lua.create_table_with_capacity(0, 2)?;
        metatable.raw_set("__index", read)?;
        metatable.raw_set("__metatable", false)?;
        Ok(self.metatable.insert(metatable).clone())
    }
}

/// How a turn ended, as fields of a table.
fn settled(lua: &Lua, table: &Table, outcome: &Outcome) -> mlua::Result<()> {
    table.raw_set("turn_id", outcome.turn_id.to_string())?;
    table.raw_set("stop", outcome.stop.as_str())?;
    table.raw_set("text", outcome.text.as_deref())?;
    turn_error(table, outcome.error.as_ref())?;
    usage_total(lua, table, &outcome.usage)
}

/// What a turn used, as fields of a table. The cost is there only if all of it is known.
pub(crate) fn usage_total(lua: &Lua, table: &Table, total: &UsageTotal) -> mlua::Result<()> {
    table.raw_set("usage", usage_table(lua, &total.usage)?)?;
    table.raw_set("cost", total.cost.filter(|_| total.unpriced == 0))
}

/// Why a turn failed, as fields of a table.
pub(crate) fn turn_error(table: &Table, error: Option<&TurnError>) -> mlua::Result<()> {
    if let Some(error) = error {
        table.raw_set("error", with_causes(error))?;
        table.raw_set("error_kind", error.kind())?;
    }
    Ok(())
}

fn provider_error(table: &Table, error: &ProviderError) -> mlua::Result<()> {
    table.raw_set("error", error.message.as_str())?;
    table.raw_set("error_kind", error.class.as_str())
}

fn call(table: &Table, id: &str, tool_name: &str) -> mlua::Result<()> {
    table.raw_set("id", id)?;
    table.raw_set("tool_name", tool_name)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
