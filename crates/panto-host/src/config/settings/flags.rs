//! `[providers.*.flags]`: how a server deviates from what its protocol takes.
//!
//! Which of them a protocol knows is the protocol's own affair.

use super::{Kind, Setting};

/// A flag that is off unless it is set.
const fn flag(key: &'static str, doc: &'static str) -> Setting {
    Setting {
        key,
        kind: Kind::Flag,
        default: "the server's, else `false`",
        example: "true",
        doc,
    }
}

/// A flag that is one of a few words.
const fn word(
    key: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    example: &'static str,
    doc: &'static str,
) -> Setting {
    Setting {
        key,
        kind: Kind::OneOf(words),
        default,
        example,
        doc,
    }
}

/// A limit that is a whole number.
const fn limit(key: &'static str, example: &'static str, doc: &'static str) -> Setting {
    Setting {
        key,
        kind: Kind::Tokens,
        default: "the server's, else none",
        example,
        doc,
    }
}

pub(super) const FLAGS: &[Setting] = &[
    flag(
        "providers.*.flags.bearer",
        "`anthropic-messages`, `google-generate`: takes the key as `authorization: Bearer` and not in a \
         header of its own.",
    ),
    flag(
        "providers.*.flags.no_cache_marks",
        "`anthropic-messages`: knows no `cache_control`.",
    ),
    flag(
        "providers.*.flags.unsigned_thinking",
        "`anthropic-messages`: wants its thinking back although it does not sign it.",
    ),
    flag(
        "providers.*.flags.developer_role",
        "`openai-chat`: calls the speaker of the system prompt `developer`.",
    ),
    word(
        "providers.*.flags.output_limit",
        &["max_tokens", "max_completion_tokens", "unsent"],
        "the server's, else `\"max_tokens\"`",
        r#""unsent""#,
        "`openai-chat`: the parameter that bounds an answer.",
    ),
    flag(
        "providers.*.flags.no_stream_usage",
        "`openai-chat`: refuses `stream_options`.",
    ),
    flag(
        "providers.*.flags.cache_key",
        "`openai-chat`: takes `prompt_cache_key`.",
    ),
    flag(
        "providers.*.flags.cache_marks",
        "`openai-chat`: takes `cache_control` on content.",
    ),
    word(
        "providers.*.flags.reasoning",
        &[
            "effort",
            "object",
            "switch",
            "template",
            "effort_and_template",
            "unsent",
        ],
        "the server's, else `\"effort\"`",
        r#""template""#,
        "`openai-chat`: the parameter for a reasoning label: `reasoning_effort`, `reasoning`, \
         `thinking`, `chat_template_kwargs`, both the first and the last, or none.",
    ),
    word(
        "providers.*.flags.efforts",
        &["all", "none_to_high", "none_to_max"],
        "the server's, else `\"all\"`",
        r#""none_to_high""#,
        "`openai-chat`: the words for how much to think that it takes: every label; `none`, \
         `low`, `medium` and `high`; or these and `max`. Others become the nearest.",
    ),
    word(
        "providers.*.flags.thinking",
        &["dropped", "content", "reasoning", "details", "parts"],
        "the server's, else `\"dropped\"`",
        r#""reasoning""#,
        "`openai-chat`: how thinking goes back: not at all, as `reasoning_content`, as \
         `reasoning`, as `reasoning_details`, or as parts of the content.",
    ),
    flag(
        "providers.*.flags.thinking_required",
        "`openai-chat`: refuses answers without their thinking; for `thinking = \"content\"`.",
    ),
    flag(
        "providers.*.flags.short_call_ids",
        "`openai-chat`: takes only ids of nine letters and digits for tool calls.",
    ),
    flag(
        "providers.*.flags.answer_after_results",
        "`openai-chat`: refuses a user message right after tool results.",
    ),
    flag(
        "providers.*.flags.no_named_tool",
        "`openai-chat`: cannot require one tool by its name.",
    ),
    flag(
        "providers.*.flags.grammar_schemas",
        "`openai-chat`: makes a grammar of the tools' schemas, as llama.cpp does.",
    ),
    flag(
        "providers.*.flags.documents",
        "`openai-chat`: takes PDF documents.",
    ),
    flag(
        "providers.*.flags.no_gif",
        "`openai-chat`: takes no GIF images.",
    ),
    flag(
        "providers.*.flags.no_webp",
        "`openai-chat`: takes no WebP images.",
    ),
    limit(
        "providers.*.flags.max_files",
        "5",
        "`openai-chat`: how many attachments a request may have; of more, the latest are sent.",
    ),
    limit(
        "providers.*.flags.max_file_bytes",
        "3145728",
        "`openai-chat`: bytes that the attachments of a request may have, as base64.",
    ),
    flag(
        "providers.*.flags.system_role",
        "`openai-responses`: knows no role `developer`.",
    ),
    flag(
        "providers.*.flags.text_results",
        "`openai-responses`: takes nothing but text as a tool result.",
    ),
    flag(
        "providers.*.flags.no_encrypted_reasoning",
        "`openai-responses`: refuses to be asked for encrypted reasoning.",
    ),
    flag(
        "providers.*.flags.no_cache_key",
        "`openai-responses`: knows no `prompt_cache_key`.",
    ),
    flag(
        "providers.*.flags.no_call_ids",
        "`google-generate`: refuses ids of function calls.",
    ),
    flag(
        "providers.*.flags.files_after_results",
        "`google-generate`: takes no files within the response of a function.",
    ),
];
