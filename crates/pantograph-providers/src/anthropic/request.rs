//! The body of a request.

use std::borrow::Cow;

use pantograph::protocol::{Purpose, Request, ToolChoice};
use pantograph::{Model, RawJson, ReasoningControl, ToolStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::binding::{self, Prefix, Redacted};
use super::thinking::{self, OutputConfig, Reasoning, Thinking};
use super::{AnthropicFlags, STYLE};
use crate::attachment::{File, FileLimits, FileRule, IMAGES};
use crate::call_ids::IdRule;
use crate::forcing::Forcing;
use crate::harmless;
use crate::history::{Content, History, Part, Results, Speaker, Turn, WireRules};
use crate::payload::{Last, Payload, Writers};
use crate::prompt_cache::{CacheControl, EPHEMERAL};
use crate::schema::{self, SchemaRules};

const RULES: WireRules = WireRules {
    style: STYLE,
    ids: IdRule::up_to(64),
    files: FileRule {
        images: IMAGES,
        pdf: true,
        max_encoded: LIMITS.max_bytes,
    },
    results: Results::WithUser,
};

/// A request may have 32 MB and 100 files, an image 5 MB, and beside more than 20 images none may
/// have more than 2,000 pixels a side.
///
/// Source: platform.claude.com/docs, "Vision" and "API overview".
const LIMITS: FileLimits = FileLimits {
    side: 8_000,
    side_of_many: (20, 2_000),
    max_image: 5 * 1024 * 1024,
    max_files: 100,
    max_bytes: 24 * 1024 * 1024,
};

/// How many of the last user turns are marked: the last for the next request, the one before it
/// to find what this one's predecessor wrote. With tools and system that is four, all there may be.
const MARKED_TURNS: usize = 2;

/// The bytes of a request's body, and what its answer is thought after.
pub(super) fn body(
    request: &Request,
    flags: AnthropicFlags,
    writers: Writers,
) -> (Payload, Prefix) {
    let history = History::new(request, RULES).with_limits(LIMITS);
    let forcing = Forcing::of(request, history.names());
    let turns = history.turns();
    // A compaction's request is never continued.
    let marks = !flags.no_cache_marks && request.purpose == Purpose::Turn;
    let mut messages = messages(&turns, flags, marks);
    let reasoning = Reasoning::of(&request.model, &forcing, is_amid_unthought_calls(&messages));
    if reasoning.is_off {
        messages = without_thinking(messages);
    }
    let tools = tools(&forcing, &history, marks);
    let system = system(&forcing, &history, marks);
    let binds = binds(&request.model, flags);
    let prefix = without_unbound(start(&tools, &system), &mut messages, binds);
    let body = Body {
        model: &request.model.wire_model,
        max_tokens: reasoning.max_tokens,
        stream: true,
        thinking: reasoning.thinking,
        output_config: reasoning.output_config,
        tool_choice: tool_choice(&forcing, &history),
        tools,
        system,
    };
    let messages = Last {
        name: "messages",
        items: &messages,
    };
    (history.written(&body, &messages, writers), prefix)
}

/// Whether a model may hold its thinking to what stood before it. None with a budget does, and
/// those must begin with thought; a server that does not sign cannot, and wants it back.
fn binds(model: &Model, flags: AnthropicFlags) -> bool {
    model.reasoning_control != Some(ReasoningControl::Budget) && !flags.unsigned_thinking
}

/// All but the messages, which come last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<SystemText<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "harmless::is_blank")]
    description: Cow<'a, str>,
    input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct SystemText<'a> {
    r#type: &'static str,
    text: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<WireBlock<'a>>,
}

/// A block and, perhaps, a mark up to which the provider keeps the request.
#[derive(Serialize)]
#[serde(untagged)]
enum WireBlock<'a> {
    Known {
        #[serde(flatten)]
        block: Known<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Redacted(Redacted<'a>),
    Opaque(&'a RawJson),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
        #[serde(skip)]
        after: Option<&'a str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawJson,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<WireBlock<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> From<Known<'a>> for WireBlock<'a> {
    fn from(block: Known<'a>) -> Self {
        WireBlock::Known {
            block,
            cache_control: None,
        }
    }
}

impl WireBlock<'_> {
    fn is_result(&self) -> bool {
        match self {
            WireBlock::Known { block, .. } => matches!(block, Known::ToolResult { .. }),
            WireBlock::Redacted(_) | WireBlock::Opaque(_) => false,
        }
    }

    fn is_thinking(&self) -> bool {
        match self {
            WireBlock::Known { block, .. } => matches!(block, Known::Thinking { .. }),
            WireBlock::Redacted(_) => true,
            WireBlock::Opaque(raw) => thinking::is_redacted(raw),
        }
    }

    /// What it was thought after, if it is thinking of which that is known.
    fn after(&self) -> Option<&str> {
        match self {
            WireBlock::Known {
                block: Known::Thinking { after, .. },
                ..
            } => *after,
            WireBlock::Redacted(redacted) => Some(redacted.after),
            WireBlock::Known { .. } | WireBlock::Opaque(_) => None,
        }
    }

    /// Goes on with what the API holds later thinking to.
    fn add_to(&self, prefix: &mut Prefix) {
        let block = match self {
            WireBlock::Known { block, .. } => block,
            WireBlock::Redacted(_) => return,
            WireBlock::Opaque(raw) => return prefix.add(raw.as_str()),
        };
        match block {
            Known::Text { text } => {
                prefix.add("text");
                prefix.add(text);
            }
            Known::Thinking { .. } => {}
            Known::Image { source } | Known::Document { source } => {
                prefix.add("file");
                prefix.add(source.media_type);
                prefix.add(source.data);
            }
            Known::ToolUse { id, name, input } => {
                prefix.add("call");
                prefix.add(id);
                prefix.add(name);
                prefix.add(input.as_str());
            }
            Known::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => {
                prefix.add(if *is_error { "error" } else { "result" });
                prefix.add(tool_use_id);
                content.iter().for_each(|block| block.add_to(prefix));
                prefix.add("end");
            }
        }
    }
}

fn mark(marks: bool) -> Option<CacheControl> {
    marks.then_some(EPHEMERAL)
}

fn tool_choice(forcing: &Forcing<'_>, history: &History<'_>) -> Option<Value> {
    Some(match &forcing.choice {
        _ if forcing.tools.is_empty() && !history.called_tools().is_empty() => {
            json!({ "type": "none" })
        }
        // What goes without saying is not said.
        ToolChoice::Auto => return None,
        ToolChoice::None => json!({ "type": "none" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Named(name) => json!({ "type": "tool", "name": history.names().encode(name) }),
    })
}

/// The tools. The API wants some wherever a conversation has calls, so an agent without tools
/// declares those that it once called, as no longer there.
fn tools<'a>(forcing: &Forcing<'a>, history: &History<'a>, marks: bool) -> Vec<Tool<'a>> {
    let tool = |name: &'a str, description: &'a str, input_schema| Tool {
        name: Cow::Owned(history.names().encode(name).into_owned()),
        description: harmless::text(description),
        input_schema,
        cache_control: None,
    };
    let mut tools: Vec<Tool<'a>> = match forcing.tools.is_empty() {
        false => forcing
            .tools
            .iter()
            .map(|declared| {
                let mut schema = schema::clean(&declared.schema, SchemaRules::JsonSchema);
                schema::keep_legal_keys(&mut schema);
                tool(declared.name.as_str(), &declared.description, schema)
            })
            .collect(),
        true => history
            .called_tools()
            .into_iter()
            .map(|name| {
                let schema = json!({ "type": "object", "properties": {} });
                tool(name, "No longer available: do not call it.", schema)
            })
            .collect(),
    };
    if let Some(last) = tools.last_mut() {
        last.cache_control = mark(marks);
    }
    tools
}

fn system<'a>(forcing: &Forcing<'a>, history: &History<'a>, marks: bool) -> Vec<SystemText<'a>> {
    let text = |text| SystemText {
        r#type: "text",
        text,
        cache_control: None,
    };
    let mut texts: Vec<SystemText<'a>> = history.system().into_iter().map(text).collect();
    if let Some(last) = texts.last_mut() {
        last.cache_control = mark(marks);
    }
    // After the mark: it comes and goes.
    let instruction = forcing.instruction.clone().map(Cow::Owned);
    texts.extend(instruction.map(text));
    texts
}

fn messages<'a>(turns: &'a [Turn<'a>], flags: AnthropicFlags, marks: bool) -> Vec<WireMessage<'a>> {
    let mut messages: Vec<WireMessage<'a>> = Vec::with_capacity(turns.len());
    for turn in turns {
        let role = match turn.speaker {
            Speaker::Assistant => "assistant",
            Speaker::User | Speaker::Tool => "user",
        };
        let content = content_of(turn, flags);
        match messages.last_mut() {
            // An answer of which nothing may be sent is left out, and the user goes on.
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => messages.push(WireMessage { role, content }),
        }
    }
    let users = messages
        .iter_mut()
        .rev()
        .filter(|message| message.role == "user");
    for message in users.take(MARKED_TURNS) {
        if let Some(WireBlock::Known { cache_control, .. }) = message.content.last_mut() {
            *cache_control = mark(marks);
        }
    }
    messages
}

/// Whether the model is amid its tool calls and did not think before them, as after a move from
/// another provider. With a budget the API then refuses to think until the user speaks.
///
/// Calls and results are one turn to it, that begins with thought or has none: an answer amid
/// them needs none of its own, unless the user said something before it.
fn is_amid_unthought_calls(messages: &[WireMessage<'_>]) -> bool {
    let mut messages = messages.iter().rev();
    let mut heard = messages.next();
    while let (Some(results), Some(answer)) = (heard, messages.next()) {
        if !results.content.iter().any(WireBlock::is_result) {
            return false;
        }
        heard = messages.next();
        let begins = heard.is_none_or(|heard| !heard.content.iter().all(WireBlock::is_result));
        if begins && !answer.content.first().is_some_and(WireBlock::is_thinking) {
            return true;
        }
    }
    false
}

/// What stands before the messages, of what the API holds thinking to.
fn start(tools: &[Tool<'_>], system: &[SystemText<'_>]) -> Prefix {
    let mut prefix = Prefix::new();
    for tool in tools {
        prefix.add("tool");
        prefix.add(&tool.name);
        prefix.add(&tool.description);
        prefix.add(&tool.input_schema.to_string());
    }
    for text in system {
        prefix.add("system");
        prefix.add(&text.text);
    }
    prefix
}

/// Leaves out thinking that was thought after something else than what stands before it now, and
/// all before that; gives what an answer to all messages is thought after.
fn without_unbound(start: Prefix, messages: &mut [WireMessage<'_>], binds: bool) -> Prefix {
    let mut prefix = start;
    let mut unbound = 0;
    for (at, message) in messages.iter().enumerate() {
        if binds && message.content.iter().any(|block| block.after().is_some()) {
            let before = prefix.to_string();
            let mut known = message.content.iter().filter_map(WireBlock::after);
            if known.any(|after| after != before) {
                unbound = at + 1;
            }
        }
        prefix.add(message.role);
        for block in message.content.iter().filter(|block| !block.is_thinking()) {
            block.add_to(&mut prefix);
        }
    }
    // No answer ends with thinking, so something is left of each.
    for message in messages.iter_mut().take(unbound) {
        message.content.retain(|block| !block.is_thinking());
    }
    prefix
}

/// The messages for a model that does not think for this answer: the API then refuses thinking
/// in the turn that goes on, and heeds none in others.
fn without_thinking(messages: Vec<WireMessage<'_>>) -> Vec<WireMessage<'_>> {
    let mut kept: Vec<WireMessage<'_>> = Vec::with_capacity(messages.len());
    for mut message in messages {
        message.content.retain(|block| !block.is_thinking());
        match kept.last_mut() {
            _ if message.content.is_empty() => {}
            Some(last) if last.role == message.role => last.content.extend(message.content),
            _ => kept.push(message),
        }
    }
    kept
}

fn content_of<'a>(turn: &'a Turn<'a>, flags: AnthropicFlags) -> Vec<WireBlock<'a>> {
    let blocks = turn.parts.iter().filter_map(|part| block(part, flags));
    let mut blocks: Vec<WireBlock<'a>> = blocks.collect();
    // The API refuses an answer that ends with thinking, as one does that was cut there.
    while blocks.last().is_some_and(WireBlock::is_thinking) {
        blocks.pop();
    }
    blocks
}

fn block<'a>(part: &'a Part<'a>, flags: AnthropicFlags) -> Option<WireBlock<'a>> {
    Some(match part {
        // Blank beside an item of its own, of which the API takes no more than the text.
        Part::Text { text, .. } if harmless::is_blank(text) => return None,
        Part::Text { text, .. } => Known::Text { text }.into(),
        Part::Thinking {
            text,
            signature,
            raw,
        } => {
            let signature = signature.unwrap_or_default();
            if signature.is_empty() && !flags.unsigned_thinking {
                return None;
            }
            Known::Thinking {
                thinking: text,
                signature,
                after: raw.and_then(binding::noted),
            }
            .into()
        }
        Part::Call(call) => Known::ToolUse {
            id: call.id,
            name: &call.name,
            input: &call.input,
        }
        .into(),
        Part::Result(result) => Known::ToolResult {
            tool_use_id: result.call,
            content: result
                .content
                .iter()
                .map(|part| content(part, result.status))
                .collect(),
            is_error: result.status != ToolStatus::Ok,
        }
        .into(),
        Part::File(file) => self::file(file),
        Part::Opaque(raw) => match binding::unwrap(raw) {
            Some(redacted) => WireBlock::Redacted(redacted),
            None => WireBlock::Opaque(raw),
        },
    })
}

fn content<'a>(content: &'a Content<'a>, status: ToolStatus) -> WireBlock<'a> {
    match content {
        Content::Text(text) => Known::Text { text }.into(),
        Content::File(file) if status == ToolStatus::Ok => self::file(file),
        // The API takes nothing but text in a result that is an error.
        Content::File(_) => Known::Text {
            text: "[an attachment was left out: the call did not succeed]",
        }
        .into(),
    }
}

fn file(file: &File) -> WireBlock<'_> {
    let source = Source {
        r#type: "base64",
        media_type: &file.media_type,
        data: &file.data,
    };
    match file.is_image() {
        true => Known::Image { source }.into(),
        false => Known::Document { source }.into(),
    }
}
