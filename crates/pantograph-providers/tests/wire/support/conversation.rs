//! One rich conversation, as any protocol could have produced it.

use std::sync::Arc;

use pantograph::protocol::{Purpose, Request, ToolChoice};
use pantograph::{
    Attachment, Block, Conversation, Message, MessageId, Metadata, Model, ModelRef, Origin,
    RawJson, Role, StopReason, ToolCall, ToolContent, ToolDeclaration, ToolResult, ToolSet,
    ToolStatus,
};
use serde_json::json;

/// What the provider that answered leaves in its messages.
pub(crate) struct Native {
    pub(crate) origin: Origin,
    /// The ids of the calls, in order.
    pub(crate) ids: [&'static str; 3],
    pub(crate) signature: Option<&'static str>,
    pub(crate) thinking: Option<RawJson>,
    pub(crate) text: Option<RawJson>,
    pub(crate) call: Option<RawJson>,
    /// A block that only it understands.
    pub(crate) opaque: Option<RawJson>,
}

/// The model `anthropic:sonnet`, with limits that show in a request.
pub(crate) fn model(provider: &str, wire_model: &str, base_url: &str) -> Model {
    let reference = ModelRef::parse(&format!("{provider}:m")).unwrap();
    let mut model = Model::new(reference);
    model.wire_model = wire_model.into();
    model.base_url = Some(base_url.into());
    model.max_output = Some(32_000);
    model
}

/// A request of one user message.
pub(crate) fn simple(model: Model) -> Request {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("Hello")]);
    request(model, log.conversation)
}

/// A request with the tools and the system prompt of the rich conversation.
pub(crate) fn request(model: Model, conversation: Conversation) -> Request {
    Request {
        model: Arc::new(model),
        purpose: Purpose::Turn,
        context: "context".into(),
        label: None,
        system_prompt: Some("You help.".into()),
        conversation,
        tools: tools(),
        tool_choice: ToolChoice::Auto,
    }
}

/// Two tools: a name with a dot, and a schema that no provider takes as it is.
pub(crate) fn tools() -> ToolSet {
    let read = ToolDeclaration::new(
        "files.read",
        "Reads a file.",
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "limit": { "type": ["integer", "null"], "enum": [10, 100, null] },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
    );
    let find = ToolDeclaration::new(
        "find",
        "",
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "oneOf": [
                { "properties": { "name": { "$ref": "#/$defs/text" } }, "required": ["name"] },
                { "properties": { "id": { "type": "integer" } }, "required": ["id"] },
            ],
            "$defs": { "text": { "type": "string", "minLength": 1 } },
        }),
    );
    ToolSet::new(vec![read.unwrap(), find.unwrap()]).unwrap()
}

/// Everything that a history can hold: a compaction's summary, system messages, thinking that is
/// signed and opaque, several calls, images from both sides, input that is no JSON, an error, a
/// result without text, an answer that was cancelled, two user messages in a row.
pub(crate) fn rich(native: &Native) -> Conversation {
    let mut log = Log::default();
    let [first, second, third] = native.ids;
    log.say(
        Role::User,
        vec![Block::Summary {
            text: "They said hello.".into(),
        }],
    );
    log.say(Role::System, vec![Block::text("Be brief.")]);
    log.say(
        Role::User,
        vec![Block::text("What is this?\0"), Block::Attachment(png())],
    );
    let mut thought = vec![Block::Thinking {
        text: "Let me look.".into(),
        signature: native.signature.map(str::to_owned),
        raw: native.thinking.clone(),
    }];
    thought.extend(native.opaque.clone().map(|raw| Block::Opaque { raw }));
    thought.push(Block::Text {
        text: "Looking.".into(),
        raw: native.text.clone(),
    });
    let mut call = call(
        first,
        "files.read",
        r#"{ "path": "a\u00e9.txt",  "limit": 1e1 }"#,
    );
    call.raw = native.call.clone();
    thought.push(Block::ToolCall(call));
    thought.push(Block::ToolCall(self::call(second, "gone.tool", "null")));
    log.answer(native, thought, StopReason::ToolCalls);
    log.results(vec![
        result(
            first,
            ToolStatus::Ok,
            vec![
                ToolContent::Text("é".into()),
                ToolContent::Attachment(png()),
            ],
        ),
        result(
            second,
            ToolStatus::Error,
            vec![ToolContent::Text("no such tool".into())],
        ),
    ]);
    let text = Block::text("Again.");
    let broken = Block::ToolCall(self::call(third, "find", r#"{"name": "#));
    log.answer(native, vec![text, broken], StopReason::ToolCalls);
    log.results(vec![result(
        third,
        ToolStatus::Error,
        vec![ToolContent::Text(" ".into())],
    )]);
    log.answer(native, vec![Block::text("It is a dot.")], StopReason::End);
    log.say(Role::User, vec![Block::text("Thanks.")]);
    log.answer(native, vec![Block::text("You are")], StopReason::Cancelled);
    log.say(Role::User, vec![Block::text("  ")]);
    log.say(Role::User, vec![Block::text("Go on.")]);
    log.conversation
}

/// A conversation that is built message by message, with ids and times that do not change.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) conversation: Conversation,
}

impl Log {
    pub(crate) fn say(&mut self, role: Role, blocks: Vec<Block>) {
        self.push(role, blocks, None, None);
    }

    pub(crate) fn answer(&mut self, native: &Native, blocks: Vec<Block>, stop: StopReason) {
        let origin = Some(Arc::new(native.origin.clone()));
        self.push(Role::Assistant, blocks, origin, Some(stop));
    }

    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        self.say(
            Role::Tool,
            results.into_iter().map(Block::ToolResult).collect(),
        );
    }

    fn push(
        &mut self,
        role: Role,
        blocks: Vec<Block>,
        origin: Option<Arc<Origin>>,
        stop: Option<StopReason>,
    ) {
        let number = self.conversation.len();
        self.conversation.push(Arc::new(Message {
            id: MessageId::new(format!("m{number}")),
            parent: self.conversation.head().cloned(),
            at: jiff::Timestamp::UNIX_EPOCH,
            role,
            blocks,
            metadata: Metadata::new(),
            origin,
            usage: None,
            stop,
        }));
    }
}

pub(crate) fn call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        input: input.into(),
        raw: None,
    }
}

pub(crate) fn result(id: &str, status: ToolStatus, content: Vec<ToolContent>) -> ToolResult {
    ToolResult {
        call: id.into(),
        status,
        content,
    }
}

/// The first bytes of an image, under a wrong name.
pub(crate) fn png() -> Attachment {
    Attachment::new("image/jpeg", vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10])
}

/// The answers of Anthropic.
pub(crate) fn anthropic() -> Native {
    Native {
        origin: origin(
            "anthropic-messages",
            "https://api.anthropic.com",
            "claude-x",
        ),
        ids: ["toolu_01A", "toolu_01B", "toolu_01C"],
        signature: Some("EqQBCgIYAhIk/+=="),
        thinking: None,
        text: None,
        call: None,
        opaque: Some(
            RawJson::parse(r#"{"type":"redacted_thinking",  "data":"Em4KAhgB\/x=="}"#).unwrap(),
        ),
    }
}

/// The answers of a provider that nobody else knows, with ids that few take.
pub(crate) fn foreign() -> Native {
    Native {
        origin: origin("foreign", "https://foreign.example", "f-1"),
        ids: ["call 1|fc_é", "", "call_3"],
        signature: Some("foreign signature"),
        thinking: Some(RawJson::parse(r#"{"foreign":"thinking"}"#).unwrap()),
        text: Some(RawJson::parse(r#"{"foreign":"text"}"#).unwrap()),
        call: Some(RawJson::parse(r#"{"foreign":"call"}"#).unwrap()),
        opaque: Some(RawJson::parse(r#"{"foreign":"opaque"}"#).unwrap()),
    }
}

pub(crate) fn origin(style: &str, base_url: &str, model: &str) -> Origin {
    Origin {
        style: style.into(),
        base_url: Some(base_url.into()),
        model: model.into(),
        reference: "p:m".into(),
        reasoning: None,
    }
}
