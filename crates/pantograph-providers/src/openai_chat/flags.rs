//! How servers that speak Chat Completions differ.

use serde::{Deserialize, Serialize};

/// How a server deviates from what most of them take, which is the default.
///
/// Serialised as a map from the fields' names to flags and words, all of which may be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OpenAiChatFlags {
    /// Calls the speaker of instructions `developer`, not `system`.
    pub developer_role: bool,
    /// How it is told how long an answer may be.
    pub output_limit: OutputLimit,
    /// Refuses `stream_options`; such servers report usage unasked, or not at all.
    pub no_stream_usage: bool,
    /// Takes `prompt_cache_key`, which leads the requests of one conversation to one cache.
    pub cache_key: bool,
    /// Takes `cache_control` on content, as Anthropic does.
    pub cache_marks: bool,
    /// How it is told how much to think.
    pub reasoning: ReasoningParameter,
    /// How it wants its thinking back.
    pub thinking: ThinkingReplay,
    /// Refuses answers without their thinking, be it empty; for [`ThinkingReplay::Content`].
    pub thinking_required: bool,
    /// Takes only ids of nine letters and digits for tool calls.
    pub short_call_ids: bool,
    /// Refuses a user message right after tool results.
    pub answer_after_results: bool,
    /// Knows `required` but not how to require one tool by its name.
    pub no_named_tool: bool,
    /// Takes PDF documents.
    pub documents: bool,
}

/// The parameter that bounds an answer, sent only if the model's limit is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputLimit {
    /// `max_tokens`, the older.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, the only one that OpenAI's reasoning models take.
    MaxCompletionTokens,
    /// None: the server bounds by itself.
    Unsent,
}

/// The parameter for a reasoning label, sent only if there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningParameter {
    /// `"reasoning_effort": "high"`; the label `off` is `none`.
    #[default]
    Effort,
    /// `"reasoning": {"effort": "high"}`.
    Object,
    /// `"thinking": {"type": "enabled"}` beside `reasoning_effort`.
    Switch,
    /// `"chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "high"}`.
    Template,
    /// None: the model thinks as it does.
    Unsent,
}

/// How a model's thinking goes back to it. Where it arrives needs no flag: every known place is
/// read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkingReplay {
    /// Not at all.
    #[default]
    Dropped,
    /// As `reasoning_content`.
    Content,
    /// As `reasoning`.
    Reasoning,
    /// As `reasoning_details`, whole, with the signatures and encrypted parts in them.
    Details,
    /// As parts of the content, of type `thinking`.
    Parts,
}

impl OpenAiChatFlags {
    /// The servers that [`OpenAiChatFlags::of_server`] knows.
    pub const SERVERS: &[&str] = &[
        "openai",
        "openrouter",
        "deepseek",
        "mistral",
        "groq",
        "ollama",
        "llama-cpp",
        "vllm",
    ];

    /// The flags of a known server, by one of the names in [`OpenAiChatFlags::SERVERS`].
    pub fn of_server(name: &str) -> Option<Self> {
        let plain = Self::default();
        Some(match name {
            "openai" => Self {
                developer_role: true,
                output_limit: OutputLimit::MaxCompletionTokens,
                cache_key: true,
                documents: true,
                ..plain
            },
            "openrouter" => Self {
                cache_marks: true,
                reasoning: ReasoningParameter::Object,
                thinking: ThinkingReplay::Details,
                documents: true,
                ..plain
            },
            "deepseek" => Self {
                reasoning: ReasoningParameter::Switch,
                thinking: ThinkingReplay::Content,
                thinking_required: true,
                ..plain
            },
            "mistral" => Self {
                no_stream_usage: true,
                thinking: ThinkingReplay::Parts,
                short_call_ids: true,
                answer_after_results: true,
                ..plain
            },
            "groq" => Self {
                output_limit: OutputLimit::MaxCompletionTokens,
                ..plain
            },
            "ollama" => Self {
                thinking: ThinkingReplay::Reasoning,
                ..plain
            },
            "llama-cpp" => Self {
                reasoning: ReasoningParameter::Template,
                thinking: ThinkingReplay::Content,
                no_named_tool: true,
                ..plain
            },
            "vllm" => Self {
                thinking: ThinkingReplay::Reasoning,
                ..plain
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_server_is_known() {
        for name in OpenAiChatFlags::SERVERS {
            let flags = OpenAiChatFlags::of_server(name).unwrap();
            assert_ne!(flags, OpenAiChatFlags::default(), "{name}");
        }
        assert_eq!(OpenAiChatFlags::of_server("OpenAI"), None);
    }
}
