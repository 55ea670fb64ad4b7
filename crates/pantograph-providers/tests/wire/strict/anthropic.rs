//! What the Messages API refuses.
//!
//! Sources: platform.claude.com/docs ("Messages", "Errors", "Tool use", "Extended thinking",
//! "Adaptive thinking", "Preserved thinking", "Prompt caching", "Vision") and the words of its
//! refusals.

use std::collections::HashSet;

use serde_json::Value;

use super::{Refusals, base64, each_text, image_type, is_blank, list, matches, schema, sign, text};

/// What is known of the model that is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// Its name, with which it signs.
    pub(crate) model: &'a str,
    /// Whether it takes a budget, and not an effort.
    pub(crate) budget: bool,
    /// Whether it can be made to call a tool while it thinks.
    pub(crate) forced_while_thinking: bool,
    /// Whether it thinks unless it is told not to.
    pub(crate) thinks_unasked: bool,
}

pub(crate) fn check(body: &Value, facts: Facts<'_>) -> Vec<String> {
    let mut refusals = Refusals::default();
    let size = body.to_string().len();
    refusals.unless(
        size <= 32 << 20,
        "request_too_large: Request exceeds the maximum size",
    );
    for key in super::unknown(
        body,
        &[
            "model",
            "max_tokens",
            "stream",
            "thinking",
            "output_config",
            "tool_choice",
            "tools",
            "system",
            "messages",
        ],
    ) {
        refusals.unless(false, format_args!("{key}: Extra inputs are not permitted"));
    }
    each_text(body, &mut |text| {
        refusals.unless(!text.contains('\0'), format_args!("{text:?}: NUL"));
    });
    let max_tokens = body["max_tokens"].as_u64().unwrap_or(0);
    refusals.unless(
        max_tokens >= 1,
        "max_tokens: Input should be greater than or equal to 1",
    );
    let mut images = 0;
    each_object(body, &mut |object| {
        images += usize::from(text(object, "type") == "image")
    });
    let mut check = Check {
        body,
        facts,
        images,
        refusals,
    };
    check.thinking(max_tokens);
    check.tools();
    check.system();
    check.messages();
    check.marks();
    check.refusals.into_vec()
}

/// The signature of a thinking block, or the data of a redacted one, as the newest models give it
/// after `answer`, the blocks of an answer to `body` so far: bound to what stands before it.
pub(crate) fn bind(signature: &str, body: &Value, answer: &[Value]) -> String {
    let messages = list(body, "messages");
    let [prefix, thoughts] = before(body, messages, answer);
    format!("{signature}.{prefix}.{thoughts}")
}

/// What a block is bound to: a digest of all before it but thinking, and the thinking before it.
fn before(body: &Value, messages: &[Value], answer: &[Value]) -> [String; 2] {
    let mut thoughts = Vec::new();
    let mut rest = |blocks: &[Value]| {
        let mut said = Vec::new();
        for block in blocks {
            match text(block, "type") {
                "thinking" => thoughts.push(short(text(block, "signature"))),
                "redacted_thinking" => thoughts.push(short(text(block, "data"))),
                _ => said.push(unmarked(block)),
            }
        }
        said
    };
    let mut all = vec![unmarked(&body["system"]), unmarked(&body["tools"])];
    for message in messages {
        all.push(message["role"].clone());
        all.extend(rest(list(message, "content")));
    }
    all.push("assistant".into());
    all.extend(rest(answer));
    [short(&Value::from(all).to_string()), thoughts.join("-")]
}

fn short(what: &str) -> String {
    sign("", what)[..16].to_owned()
}

/// The value without marks for the cache, which may move.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(unmarked).collect(),
        Value::Object(object) => {
            let kept = object.iter().filter(|(key, _)| *key != "cache_control");
            let kept = kept.map(|(key, value)| (key.clone(), unmarked(value)));
            Value::Object(kept.collect())
        }
        value => value.clone(),
    }
}

struct Check<'a> {
    body: &'a Value,
    facts: Facts<'a>,
    images: usize,
    refusals: Refusals,
}

impl<'a> Check<'a> {
    fn thinking(&mut self, max_tokens: u64) {
        let thinking = &self.body["thinking"];
        let kind = text(thinking, "type");
        if let Some(budget) = thinking.get("budget_tokens") {
            let budget = budget.as_u64().unwrap_or(0);
            self.refusals.unless(
                budget >= 1_024,
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            );
            self.refusals.unless(
                budget < max_tokens,
                "`max_tokens` must be greater than `thinking.budget_tokens`",
            );
        }
        self.refusals.unless(
            match kind {
                "" | "disabled" => true,
                "enabled" => self.facts.budget && thinking.get("budget_tokens").is_some(),
                "adaptive" => !self.facts.budget,
                _ => false,
            },
            format_args!("\"thinking.type.{kind}\" is not supported for this model"),
        );
        let effort = &self.body["output_config"]["effort"];
        let known = ["low", "medium", "high", "xhigh", "max"];
        self.refusals.unless(
            effort.is_null()
                || effort
                    .as_str()
                    .is_some_and(|effort| known.contains(&effort)),
            format_args!("output_config.effort: Input should be one of {known:?}"),
        );
        let is_forced = matches!(text(&self.body["tool_choice"], "type"), "any" | "tool");
        let thinks = match kind {
            "" => self.facts.thinks_unasked,
            kind => kind != "disabled",
        };
        self.refusals.unless(
            !is_forced || !thinks || self.facts.forced_while_thinking,
            "Thinking may not be enabled when tool_choice forces tool use.",
        );
    }

    fn tools(&mut self) {
        let mut names = HashSet::new();
        for (at, tool) in list(self.body, "tools").iter().enumerate() {
            let name = text(tool, "name");
            let at = format!("tools.{at}.custom");
            self.refusals.unless(
                matches(name, "_-", 1, 128),
                format_args!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"),
            );
            self.refusals
                .unless(names.insert(name), "tools: Tool names must be unique.");
            let at = format!("{at}.input_schema");
            schema::check(&at, &tool["input_schema"], &mut self.refusals);
            schema::each(&tool["input_schema"], &mut |object| {
                let properties = object.get("properties").and_then(Value::as_object);
                for key in properties.into_iter().flat_map(|keys| keys.keys()) {
                    self.refusals.unless(
                        matches(key, "_.-", 1, 64),
                        format_args!(
                            "{at}.properties: Property keys should match pattern \
                             '^[a-zA-Z0-9_.-]{{1,64}}$': {key}"
                        ),
                    );
                }
            });
        }
        if let Some(choice) = self.body.get("tool_choice") {
            self.refusals.unless(
                !names.is_empty(),
                "tool_choice may only be specified while providing tools",
            );
            let name = text(choice, "name");
            self.refusals.unless(
                text(choice, "type") != "tool" || names.contains(name),
                format_args!("Tool '{name}' not found in provided tools"),
            );
        }
    }

    fn system(&mut self) {
        for (at, block) in list(self.body, "system").iter().enumerate() {
            self.refusals.unless(
                !is_blank(text(block, "text")),
                format_args!("system.{at}: text content blocks must be non-empty"),
            );
        }
    }

    fn messages(&mut self) {
        let messages = list(self.body, "messages");
        self.refusals.unless(
            !messages.is_empty(),
            "messages: at least one message is required",
        );
        let role = |message: &'a Value| text(message, "role");
        self.refusals.unless(
            messages.first().is_some_and(|first| role(first) == "user"),
            "messages: first message must use the \"user\" role",
        );
        self.refusals.unless(
            messages.last().is_some_and(|last| role(last) == "user"),
            "This model does not support assistant message prefill. The conversation must end \
             with a user message.",
        );
        let mut open: Vec<&str> = Vec::new();
        let mut ids = HashSet::new();
        let mut before = "";
        for (at, message) in messages.iter().enumerate() {
            let role = role(message);
            self.refusals.unless(
                role != before,
                format_args!(
                    "messages: roles must alternate between \"user\" and \"assistant\", but found \
                     multiple \"{role}\" roles in a row"
                ),
            );
            before = role;
            let content = list(message, "content");
            self.refusals.unless(
                !content.is_empty(),
                format_args!("messages.{at}: all messages must have non-empty content"),
            );
            self.results(at, content, &mut open);
            for (nth, block) in content.iter().enumerate() {
                self.bound(messages, at, nth);
                self.block(&format!("messages.{at}.content.{nth}"), role, block);
            }
            let calls = content
                .iter()
                .filter(|block| text(block, "type") == "tool_use");
            for call in calls {
                let id = text(call, "id");
                self.refusals.unless(
                    ids.insert(id),
                    format_args!("messages.{at}: `tool_use` ids must be unique"),
                );
                open.push(id);
            }
            if role == "assistant" {
                self.answer(at, content);
            }
        }
        self.refusals.unless(
            open.is_empty(),
            "`tool_use` ids were found without `tool_result` blocks immediately after",
        );
        self.refusals.unless(
            ids.is_empty() || !list(self.body, "tools").is_empty(),
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
        );
        self.last_answer(messages);
    }

    /// A block that is bound to what stood before it stands behind that still. Thinking may be
    /// missing, from the oldest on.
    fn bound(&mut self, messages: &[Value], at: usize, nth: usize) {
        let content = list(&messages[at], "content");
        let bonds = match text(&content[nth], "type") {
            "thinking" => text(&content[nth], "signature").split_once('.'),
            "redacted_thinking" => {
                let data = text(&content[nth], "data").split_once('.');
                data.and_then(|(_, signature)| signature.split_once('.'))
            }
            _ => None,
        };
        let Some((prefix, thoughts)) = bonds.and_then(|(_, bonds)| bonds.split_once('.')) else {
            return;
        };
        let now = before(self.body, &messages[..at], &content[..nth]);
        self.refusals.unless(
            prefix == now[0] && thoughts.ends_with(&now[1]),
            format_args!(
                "messages.{at}.content.{nth}: Invalid `signature` in `thinking` block. The block \
                 is bound to a different conversation."
            ),
        );
    }

    /// Every call of the message before has its one result, before anything else.
    fn results(&mut self, at: usize, content: &'a [Value], open: &mut Vec<&'a str>) {
        let is_result = |block: &Value| text(block, "type") == "tool_result";
        let leading = content.iter().take_while(|block| is_result(block)).count();
        for (nth, block) in content
            .iter()
            .enumerate()
            .filter(|(_, block)| is_result(block))
        {
            let id = text(block, "tool_use_id");
            let found = open.iter().position(|open| *open == id);
            self.refusals.unless(
                found.is_some(),
                format_args!(
                    "messages.{at}.content.{nth}: unexpected `tool_use_id` found in `tool_result` \
                     blocks: {id}"
                ),
            );
            if let Some(found) = found {
                open.remove(found);
            }
            self.refusals.unless(
                nth < leading,
                format_args!("messages.{at}: tool results must come first"),
            );
        }
        self.refusals.unless(
            open.is_empty(),
            format_args!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks \
                 immediately after: {open:?}"
            ),
        );
        open.clear();
    }

    fn answer(&mut self, at: usize, content: &[Value]) {
        let is_thinking =
            |block: &Value| matches!(text(block, "type"), "thinking" | "redacted_thinking");
        self.refusals.unless(
            !content.last().is_some_and(is_thinking),
            format_args!(
                "messages.{at}: The final block in an assistant message cannot be `thinking`."
            ),
        );
        self.refusals.unless(
            !content.iter().any(is_thinking) || is_thinking(&content[0]),
            format_args!(
                "messages.{at}.content.0: If an assistant message contains any thinking blocks, \
                 the first block must be `thinking` or `redacted_thinking`."
            ),
        );
    }

    /// Calls and results are one turn: with a budget it begins with thought, and again after
    /// whatever the user said amid it; without thinking it has no thought.
    fn last_answer(&mut self, messages: &[Value]) {
        let kind = |block: &Value| text(block, "type").to_owned();
        let is_thought = |block: &Value| kind(block).ends_with("thinking");
        let is_result = |block: &Value| kind(block) == "tool_result";
        let thinks = text(&self.body["thinking"], "type");
        let is_off = thinks == "disabled" || thinks.is_empty() && self.facts.budget;
        let mut end = messages.len();
        while end >= 2 && list(&messages[end - 1], "content").iter().any(is_result) {
            let answer = list(&messages[end - 2], "content");
            let spoken = end < 3 || !list(&messages[end - 3], "content").iter().all(is_result);
            self.refusals.unless(
                thinks != "enabled" || !spoken || answer.first().is_some_and(is_thought),
                "Expected `thinking` or `redacted_thinking`. When `thinking` is enabled, a final \
                 `assistant` message must start with a thinking block",
            );
            self.refusals.unless(
                !is_off || !answer.iter().any(is_thought),
                "When thinking is disabled, an `assistant` message in the final position cannot \
                 contain `thinking`.",
            );
            end -= 2;
        }
    }

    fn block(&mut self, at: &str, role: &str, block: &Value) {
        let kind = text(block, "type");
        let speaker = match kind {
            "text" => role,
            "image" | "document" | "tool_result" => "user",
            _ => "assistant",
        };
        self.refusals.unless(
            role == speaker,
            format_args!("{at}: `{kind}` blocks can only be in `{speaker}` messages"),
        );
        match kind {
            "text" => self.refusals.unless(
                !is_blank(text(block, "text")),
                format_args!("{at}: text content blocks must contain non-whitespace text"),
            ),
            "thinking" => self.refusals.unless(
                text(block, "signature").split('.').next()
                    == Some(&sign(self.facts.model, text(block, "thinking"))),
                format_args!("{at}: Invalid `signature` in `thinking` block"),
            ),
            "redacted_thinking" => {
                let data = text(block, "data");
                let (what, signature) = data.split_once('.').unwrap_or_default();
                self.refusals.unless(
                    signature.split('.').next() == Some(&sign(self.facts.model, what)),
                    format_args!("{at}: Invalid `data` in `redacted_thinking` block"),
                );
            }
            "tool_use" => {
                self.refusals.unless(
                    matches(text(block, "id"), "_-", 1, 64),
                    format_args!(
                        "{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                    ),
                );
                self.refusals.unless(
                    matches(text(block, "name"), "_-", 1, 200),
                    format_args!("{at}.tool_use.name: String should match pattern"),
                );
                self.refusals.unless(
                    block["input"].is_object(),
                    format_args!("{at}.tool_use.input: Input should be a valid dictionary"),
                );
            }
            "tool_result" => self.result(at, block),
            "image" | "document" => self.file(at, kind, &block["source"]),
            kind => self.refusals.unless(
                false,
                format_args!("{at}: Input tag '{kind}' does not match any of the expected tags"),
            ),
        }
    }

    fn result(&mut self, at: &str, block: &Value) {
        for (nth, inner) in list(block, "content").iter().enumerate() {
            let at = format!("{at}.tool_result.content.{nth}");
            let kind = text(inner, "type");
            self.refusals.unless(
                matches!(kind, "text" | "image" | "document"),
                format_args!("{at}: {kind}"),
            );
            self.refusals.unless(
                kind == "text" || block["is_error"] != true,
                format_args!("{at}: all content must be type `text` if `is_error` is true"),
            );
            self.block(&at, "user", inner);
        }
    }

    fn file(&mut self, at: &str, kind: &str, source: &Value) {
        let data = text(source, "data");
        let media_type = text(source, "media_type");
        let bytes = base64(data).unwrap_or_default();
        self.refusals.unless(
            !bytes.is_empty(),
            format_args!("{at}.source.base64: image cannot be empty"),
        );
        if kind == "document" {
            self.refusals.unless(
                media_type == "application/pdf",
                format_args!("{at}.source.base64.media_type: Input should be 'application/pdf'"),
            );
            return;
        }
        self.refusals.unless(
            ["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&media_type),
            format_args!("{at}.source.base64.media_type: Input should be 'image/jpeg', …"),
        );
        self.refusals.unless(
            media_type == image_type(&bytes),
            format_args!(
                "{at}: The image was specified using the {media_type} media type, but the image \
                 appears to be a {} image",
                image_type(&bytes)
            ),
        );
        self.refusals.unless(
            data.len() <= 5 << 20,
            format_args!("{at}: image exceeds 5 MB maximum: {} bytes", data.len()),
        );
        let sides = png_sides(&bytes);
        let images = self.images;
        let max = if images > 20 { 2_000 } else { 8_000 };
        self.refusals.unless(
            sides.is_none_or(|(width, height)| width <= max && height <= max),
            format_args!(
                "{at}: At least one of the image dimensions exceed max allowed size: {max} pixels"
            ),
        );
        self.refusals.unless(images <= 100, "Too many images");
    }

    fn marks(&mut self) {
        let mut marks = 0;
        each_object(self.body, &mut |object| {
            if object.get("cache_control").is_some() {
                marks += 1;
                let kind = text(object, "type");
                self.refusals.unless(
                    !matches!(kind, "thinking" | "redacted_thinking"),
                    format_args!("cache_control: Extra inputs are not permitted on {kind}"),
                );
                self.refusals.unless(
                    kind != "text" || !is_blank(text(object, "text")),
                    "cache_control cannot be set for empty text blocks",
                );
            }
        });
        self.refusals.unless(
            marks <= 4,
            format_args!(
                "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
            ),
        );
    }
}

fn png_sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    bytes
        .starts_with(b"\x89PNG")
        .then(|| Some((number(16)?, number(20)?)))?
}

fn each_object(value: &Value, visit: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_object(item, visit)),
        Value::Object(object) => {
            visit(value);
            object.values().for_each(|value| each_object(value, visit));
        }
        _ => {}
    }
}
