//! One chunk of an answer, in every form that servers give it.

use std::borrow::Cow;
use std::fmt;

use pantograph::Usage;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::few::Few;
use crate::lenient;

/// What one event holds. Fields that are not here do not matter; those that may be of any shape
/// are read when they are looked at.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Few<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    /// Where Groq reported usage before it took `stream_options`.
    #[serde(borrow)]
    x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

impl Chunk<'_> {
    pub(super) fn is_error(&self) -> bool {
        // What Mistral and old vLLM call such an event.
        let is_named = |object: &RawValue| matches!(object.get(), r#""error""# | r#""Error""#);
        self.error.is_some() || self.object.is_some_and(is_named)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let beside = || lenient::read::<UsageBeside>(self.x_groq?)?.usage;
        let usage = self.usage.and_then(lenient::read).or_else(beside);
        usage.map(WireUsage::into)
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Cow<'a, str>>,
    /// Where Moonshot reports it.
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

impl Choice<'_> {
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage: Option<WireUsage> = self.usage.and_then(lenient::read);
        usage.map(WireUsage::into)
    }
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    pub(super) content: Option<ContentDelta>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<Vec<&'a RawValue>>,
    pub(super) refusal: Option<String>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// One call without id, as it was before `tool_calls`.
    pub(super) function_call: Option<Box<FunctionDelta>>,
}

#[derive(Default, Deserialize)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u32>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

impl CallDelta<'_> {
    /// Whether it says nothing but a number.
    pub(super) fn is_blank(&self) -> bool {
        let says_nothing = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
        let is_empty = |function: &FunctionDelta| {
            let arguments = function.arguments.as_ref();
            says_nothing(&function.name) && arguments.is_none_or(|text| text.0.is_empty())
        };
        says_nothing(&self.id)
            && self.function.as_ref().is_none_or(is_empty)
            && self.extra_content.is_none()
    }
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Arguments>,
}

#[derive(Deserialize)]
struct UsageBeside {
    #[serde(default, deserialize_with = "lenient::field")]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient::count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "lenient::field")]
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's word for what was cached.
    #[serde(default, deserialize_with = "lenient::count")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    reasoning_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let details = usage.prompt_tokens_details.as_ref();
        let cache_read = details
            .and_then(|details| details.cached_tokens)
            .or(usage.prompt_cache_hit_tokens);
        let cache_write = details.and_then(|details| details.cache_write_tokens);
        // The wire's count holds what was cached; ours does not.
        let cached = cache_read
            .unwrap_or(0)
            .saturating_add(cache_write.unwrap_or(0));
        Usage {
            input: usage
                .prompt_tokens
                .map(|tokens| tokens.saturating_sub(cached)),
            output: usage.completion_tokens,
            cache_read,
            cache_write,
            reasoning: usage
                .completion_tokens_details
                .and_then(|details| details.reasoning_tokens),
        }
    }
}

/// The `content` of a delta: text, or the parts of Mistral's reasoning models.
pub(super) enum ContentDelta {
    Text(String),
    Parts(Vec<PartDelta>),
}

#[derive(Deserialize)]
pub(super) struct PartDelta {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<ThinkingDelta>,
}

/// The thinking of a part: text, or parts with texts.
pub(super) struct ThinkingDelta(pub(super) String);

/// The `arguments` of a call: the text of an object, or with some servers the object itself.
pub(super) struct Arguments(pub(super) String);

impl<'de> Deserialize<'de> for ContentDelta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;
        impl<'de> Visitor<'de> for Content {
            type Value = ContentDelta;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<ContentDelta, E> {
                Ok(ContentDelta::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<ContentDelta, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(parts)).map(ContentDelta::Parts)
            }
        }
        deserializer.deserialize_any(Content)
    }
}

impl<'de> Deserialize<'de> for ThinkingDelta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match ContentDelta::deserialize(deserializer)? {
            ContentDelta::Text(text) => text,
            ContentDelta::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }))
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Arguments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or an object")
            }

            fn visit_str<E>(self, text: &str) -> Result<Arguments, E> {
                Ok(Arguments(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Arguments, A::Error> {
                let object = Value::deserialize(MapAccessDeserializer::new(object))?;
                Ok(Arguments(object.to_string()))
            }
        }
        deserializer.deserialize_any(Text)
    }
}
