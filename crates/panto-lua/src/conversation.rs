//! Conversations that Lua owns: snapshots, which it may change without anyone noticing.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, MetaMethod, UserData, UserDataFields, UserDataMethods, Value};
use pantograph::{Block, Clock, Conversation, Message, Metadata, Role, SystemClock};

use crate::args::{Arg, Args};
use crate::class::{self, Class, Methods};
use crate::fault::{Fault, Reply, values};
use crate::message::{blocks_argument, message_table};
use crate::module::State;

/// A conversation of its own.
pub(crate) struct LuaConversation(RefCell<Conversation>);

impl LuaConversation {
    pub(crate) fn new(conversation: Conversation) -> Self {
        Self(RefCell::new(conversation))
    }

    /// Appends a message; gives its position.
    fn push(&self, lua: &Lua, role: Role, blocks: Vec<Block>, metadata: Metadata) -> Reply {
        let mut conversation = self.0.borrow_mut();
        let message = Message {
            id: SystemClock.fresh_id().into(),
            parent: conversation.head().cloned(),
            at: SystemClock.now(),
            role,
            blocks,
            metadata,
            origin: None,
            usage: None,
            stop: None,
        };
        conversation.push(Arc::new(message));
        let position = conversation.len();
        drop(conversation);
        values(lua, position)
    }
}

/// `panto.conversation()`.
pub(crate) fn constructor(lua: &Lua, state: &Rc<State>) -> mlua::Result<Function> {
    state.shim.function(lua, "conversation", |lua, _| {
        values(lua, LuaConversation::new(Conversation::new()))
    })
}

impl UserData for LuaConversation {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        class::fields(fields);
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.0.borrow().len()));
    }
}

impl Class for LuaConversation {
    const NAME: &'static str = "panto.Conversation";

    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()> {
        methods.add("len", |lua, _, this, _| values(lua, this.0.borrow().len()))?;
        methods.add("transcript", |lua, _, this, _| {
            let transcript = this.0.borrow().transcript();
            values(lua, transcript)
        })?;
        methods.add("messages", |lua, state, this, _| {
            let snapshot = this.0.borrow().clone();
            let list = lua.create_table_with_capacity(snapshot.len(), 0)?;
            state.json.mark(&list)?;
            for message in snapshot.messages() {
                list.raw_push(message_table(lua, &state.json, message)?)?;
            }
            state.json.mark(&list)?;
            values(lua, list)
        })?;
        methods.add("add_system_message", |lua, state, this, mut args| {
            let text = args.next("text").text()?;
            let metadata = metadata(state, &mut args)?;
            this.push(lua, Role::System, vec![Block::text(text)], metadata)
        })?;
        methods.add("add_user_message", |lua, state, this, args| {
            add(lua, state, this, Role::User, args)
        })?;
        methods.add("add_assistant_message", |lua, state, this, args| {
            add(lua, state, this, Role::Assistant, args)
        })?;
        methods.add("add_tool_message", |lua, state, this, args| {
            add(lua, state, this, Role::Tool, args)
        })?;
        methods.add("add_compaction_summary", |lua, state, this, mut args| {
            let text = args.next("text").text()?;
            let metadata = metadata(state, &mut args)?;
            this.push(lua, Role::User, vec![Block::Summary { text }], metadata)
        })?;
        methods.add("message_metadata", |lua, state, this, mut args| {
            let position = args.next("position");
            let conversation = this.0.borrow().clone();
            let message = message_at(&conversation, &position)?;
            if message.metadata.is_empty() {
                return values(lua, Value::Nil);
            }
            values(lua, state.json.object_to_lua(lua, &message.metadata)?)
        })?;
        methods.add("set_message_metadata", |lua, state, this, mut args| {
            let position = args.next("position");
            let metadata = metadata(state, &mut args)?;
            let index = position.position()?;
            let conversation = this.0.borrow().clone();
            let mut message = Message::clone(message_at(&conversation, &position)?);
            drop(conversation);
            message.metadata = metadata;
            this.0.borrow_mut().replace(index, Arc::new(message));
            values(lua, true)
        })
    }
}

/// Appends text or blocks of `role`, which must be such as the role has.
fn add(lua: &Lua, state: &State, this: &LuaConversation, role: Role, mut args: Args) -> Reply {
    let argument = args.next("blocks");
    let blocks = blocks_argument(&argument)?;
    let fits = |block: &Block| match block {
        Block::ToolResult(_) => role == Role::Tool,
        Block::ToolCall(_) | Block::Thinking { .. } | Block::Opaque { .. } => {
            role == Role::Assistant
        }
        Block::Summary { .. } => role == Role::User,
        Block::Text { .. } | Block::Attachment(_) => role != Role::Tool,
    };
    if let Some(position) = blocks.iter().position(|block| !fits(block)) {
        let position = position + 1;
        return Err(argument.wrong(format_args!(
            "block {position} is none that a message of role {role} has"
        )));
    }
    let metadata = metadata(state, &mut args)?;
    this.push(lua, role, blocks, metadata)
}

/// The optional metadata of a message.
pub(crate) fn metadata(state: &State, args: &mut Args) -> Result<Metadata, Fault> {
    match args.next("metadata").given() {
        Some(metadata) => state.json.object_argument(&metadata),
        None => Ok(Metadata::new()),
    }
}

/// The message at a position that is counted from 1.
pub(crate) fn message_at<'a>(
    conversation: &'a Conversation,
    position: &Arg,
) -> Result<&'a Arc<Message>, Fault> {
    let len = conversation.len();
    let message = conversation.messages().get(position.position()?);
    message.ok_or_else(|| Fault::expected(format!("the conversation has only {len} messages")))
}
