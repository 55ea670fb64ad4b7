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
    /// The words for how much that it takes; the others become the nearest of them.
    pub efforts: Efforts,
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
    /// Makes a grammar of the tools' schemas and refuses those that it cannot make one of.
    pub grammar_schemas: bool,
    /// Takes PDF documents.
    pub documents: bool,
    /// Takes no GIF images.
    pub no_gif: bool,
    /// Takes no WebP images.
    pub no_webp: bool,
    /// How many attachments a request may have.
    pub max_files: Option<usize>,
    /// Bytes that the attachments of a request may have, as base64.
    pub max_file_bytes: Option<usize>,
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
    /// `"chat_template_kwargs": {"enable_thinking": true, "thinking": true}` beside
    /// `reasoning_effort`; the label `off` is only in the former.
    EffortAndTemplate,
    /// None: the model thinks as it does.
    Unsent,
}

/// The words for how much to think that a server takes, from the least to the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Efforts {
    /// Every label, `off` being `none`. Which of them a model takes is said of the model.
    #[default]
    All,
    /// `none`, `low`, `medium` and `high`.
    NoneToHigh,
    /// `none`, `low`, `medium`, `high` and `max`.
    NoneToMax,
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
        "xai",
        "ollama",
        "llama-cpp",
        "vllm",
    ];

    /// The flags of a known server, by one of the names in [`OpenAiChatFlags::SERVERS`].
    ///
    /// Each follows the server's own documentation or source, of 2026:
    ///
    /// - `openai`: developers.openai.com. Its newest reasoning models take tools over
    ///   `openai-responses` only, unless their label is `off`.
    /// - `openrouter`: openrouter.ai/docs, "Reasoning tokens" and "Prompt caching".
    /// - `deepseek`: api-docs.deepseek.com, "Thinking mode": a switch that is on unless it is
    ///   turned off, efforts up to `max`, and `reasoning_content` back with every answer that
    ///   called tools.
    /// - `mistral`: docs.mistral.ai, "Reasoning": most models take `none` and `high` only, which
    ///   the model's labels say; and `mistral-common`'s validator: ids of nine, no user after a
    ///   tool. It refuses every field that it does not know, with 422.
    /// - `groq`: console.groq.com/docs, "Reasoning" and "Images". It refuses fields that it does
    ///   not know, `reasoning_content` among them. Qwen models before 3.8 know no effort there
    ///   but `none` and `default`: such a model should take no label.
    /// - `xai`: docs.x.ai, "Image understanding": images as JPEG or PNG.
    /// - `ollama`: `openai/openai.go` of Ollama: efforts by name, images as JPEG, PNG or WebP,
    ///   thinking back as `reasoning`.
    /// - `llama-cpp`: `tools/server` and `common` of llama.cpp: thinking is the template's, a tool
    ///   named by an object counts as `auto`, images are read by a library without WebP.
    /// - `vllm`: docs.vllm.ai, "Reasoning outputs", and its request type: `reasoning` both
    ///   ways, effort as a parameter, and the switch of each template among its arguments, of
    ///   which a template gets those that it knows.
    pub fn of_server(name: &str) -> Option<Self> {
        let plain = Self::default();
        Some(match name {
            "openai" => Self {
                developer_role: true,
                output_limit: OutputLimit::MaxCompletionTokens,
                cache_key: true,
                documents: true,
                max_files: Some(500),
                max_file_bytes: Some(40 * MEGABYTE),
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
                efforts: Efforts::NoneToMax,
                thinking: ThinkingReplay::Content,
                thinking_required: true,
                ..plain
            },
            "mistral" => Self {
                no_stream_usage: true,
                efforts: Efforts::NoneToMax,
                thinking: ThinkingReplay::Parts,
                short_call_ids: true,
                answer_after_results: true,
                max_files: Some(8),
                ..plain
            },
            "groq" => Self {
                output_limit: OutputLimit::MaxCompletionTokens,
                efforts: Efforts::NoneToHigh,
                max_files: Some(5),
                // Four megabytes with the text around it.
                max_file_bytes: Some(3 * MEGABYTE),
                ..plain
            },
            "xai" => Self {
                no_gif: true,
                no_webp: true,
                ..plain
            },
            "ollama" => Self {
                efforts: Efforts::NoneToHigh,
                thinking: ThinkingReplay::Reasoning,
                no_gif: true,
                ..plain
            },
            "llama-cpp" => Self {
                reasoning: ReasoningParameter::Template,
                thinking: ThinkingReplay::Content,
                no_named_tool: true,
                grammar_schemas: true,
                no_webp: true,
                ..plain
            },
            "vllm" => Self {
                reasoning: ReasoningParameter::EffortAndTemplate,
                thinking: ThinkingReplay::Reasoning,
                ..plain
            },
            _ => return None,
        })
    }
}

const MEGABYTE: usize = 1024 * 1024;

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
