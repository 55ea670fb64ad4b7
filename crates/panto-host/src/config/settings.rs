//! Every setting, declared once: key, what it takes, default, meaning.
//!
//! Files are checked against this table, and the reference in `docs/configuration.md` is
//! generated from it.

use pantograph_providers::OpenAiChatFlags;

mod flags;

/// The reasoning labels, from none to most.
pub const REASONING: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its key, dotted; `*` stands for a name that the file chooses.
    pub key: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds if nobody sets it, as the reference page says it.
    pub default: &'static str,
    /// A value that fits, as TOML.
    pub example: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// What a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text with something in it.
    Text,
    /// Where something is reached: text without a user name or a password in it.
    Url,
    /// A header's value: text without control characters.
    HeaderValue,
    /// One of a few words.
    OneOf(&'static [&'static str]),
    /// A list of some of a few words.
    SomeOf(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A command and its arguments.
    Command,
    /// A path; a relative one starts at the directory of its file.
    Path,
    /// A list of paths; relative ones start at the project's root.
    Paths,
    /// A flag.
    Flag,
    /// Seconds, above zero and at most a year; fractions are fine.
    Seconds,
    /// A whole number from zero to a hundred.
    Count,
    /// A whole number above zero.
    Tokens,
    /// US dollars, from zero.
    Dollars,
    /// Whatever the extension makes of it.
    Anything,
}

/// Every setting, in the order of the reference page.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(flags::FLAGS)
}

const SETTINGS: &[Setting] = &[
    Setting {
        key: "model",
        kind: Kind::Text,
        default: "by the keys that there are",
        example: r#""local:big""#,
        doc: "The model that answers, as `provider:alias`. `--model` wins over it.",
    },
    Setting {
        key: "reasoning",
        kind: Kind::Text,
        default: "as the model does",
        example: r#""medium""#,
        doc: "How much the model reasons before it answers: `off`, `minimal`, `low`, `medium`, \
              `high`, `xhigh`, `max`, or a level of an extension's protocol. `--reasoning` wins \
              over it.",
    },
    Setting {
        key: "providers.*.protocol",
        kind: Kind::Text,
        default: "the catalog's, else `\"openai-chat\"` at a `base_url`",
        example: r#""openai-chat""#,
        doc: "The wire format: built in, or one that an extension registers.",
    },
    Setting {
        key: "providers.*.base_url",
        kind: Kind::Url,
        default: "the catalog's, else the protocol's",
        example: r#""http://127.0.0.1:8080/v1""#,
        doc: "Where the provider is reached. A key comes from `api_key_env` or `api_key_command`.",
    },
    Setting {
        key: "providers.*.server",
        kind: Kind::OneOf(OpenAiChatFlags::SERVERS),
        default: "the catalog's, else none",
        example: r#""vllm""#,
        doc: "Which server's deviations hold for `openai-chat`; what speaks like one of these \
              takes its name.",
    },
    Setting {
        key: "providers.*.api_key_env",
        kind: Kind::Text,
        default: "the catalog's",
        example: r#""LOCAL_KEY""#,
        doc: "The environment variable that holds the provider's key. A later layer's \
              `api_key_command` replaces it.",
    },
    Setting {
        key: "providers.*.api_key_command",
        kind: Kind::Command,
        default: "none",
        example: r#"["pass", "show", "local"]"#,
        doc: "The command that prints the provider's key, and its arguments; no shell is \
              involved. A later layer's `api_key_env` replaces it.",
    },
    Setting {
        key: "providers.*.connect_timeout_s",
        kind: Kind::Seconds,
        default: "20",
        example: "5",
        doc: "How long connecting may take.",
    },
    Setting {
        key: "providers.*.idle_timeout_s",
        kind: Kind::Seconds,
        default: "300",
        example: "120",
        doc: "How long an answer may stay without an event. Models may think in silence.",
    },
    Setting {
        key: "providers.*.request_timeout_s",
        kind: Kind::Seconds,
        default: "none",
        example: "900",
        doc: "How long one request may take in all.",
    },
    Setting {
        key: "providers.*.max_retries",
        kind: Kind::Count,
        default: "5",
        example: "2",
        doc: "How often a failed request is repeated.",
    },
    Setting {
        key: "providers.*.script",
        kind: Kind::Path,
        default: "none",
        example: r#""demo.toml""#,
        doc: "The conversation that a provider with `protocol = \"scripted\"` plays.",
    },
    Setting {
        key: "providers.*.headers.*",
        kind: Kind::HeaderValue,
        default: "none",
        example: r#""a""#,
        doc: "A header that is sent with every request.",
    },
    Setting {
        key: "providers.*.models.*.id",
        kind: Kind::Text,
        default: "the alias",
        example: r#""qwen3-coder""#,
        doc: "The model's name on the wire.",
    },
    Setting {
        key: "providers.*.models.*.context_window",
        kind: Kind::Tokens,
        default: "the catalog's, else unknown",
        example: "131072",
        doc: "Tokens that a request and its answer may hold together. Without it no compaction \
              starts by itself.",
    },
    Setting {
        key: "providers.*.models.*.max_output",
        kind: Kind::Tokens,
        default: "the catalog's, else unknown",
        example: "16384",
        doc: "Tokens that an answer may have, and that a request asks for. Without it no more than \
              32000 are asked for.",
    },
    Setting {
        key: "providers.*.models.*.reasoning",
        kind: Kind::SomeOf(REASONING),
        default: "the catalog's, else any label is passed on",
        example: r#"["off", "low", "high"]"#,
        doc: "The labels that the model knows. `--reasoning` with another is refused; `reasoning` \
              becomes the nearest.",
    },
    Setting {
        key: "providers.*.models.*.reasoning_control",
        kind: Kind::OneOf(&["effort", "budget", "none"]),
        default: "the catalog's, else as the protocol's newest models",
        example: r#""budget""#,
        doc: "Whether the model takes a reasoning label as a word, as a number of tokens, or not \
              at all.",
    },
    Setting {
        key: "providers.*.models.*.attachments",
        kind: Kind::Flag,
        default: "the catalog's, else `true`",
        example: "false",
        doc: "Whether the model takes attachments, images and documents. If not, it gets a line of \
              text for each. The catalog knows of models that take only images.",
    },
    Setting {
        key: "providers.*.models.*.forced_tool",
        kind: Kind::OneOf(&["yes", "no", "without_thinking"]),
        default: "the catalog's, else `\"without_thinking\"`",
        example: r#""yes""#,
        doc: "Whether the model can be made to call a tool: always, never, or only while it does \
              not think, which is turned off for such an answer.",
    },
    Setting {
        key: "providers.*.models.*.price.input",
        kind: Kind::Dollars,
        default: "the catalog's, else unknown",
        example: "0.5",
        doc: "US dollars a million input tokens.",
    },
    Setting {
        key: "providers.*.models.*.price.output",
        kind: Kind::Dollars,
        default: "the catalog's, else unknown",
        example: "1.5",
        doc: "US dollars a million output tokens.",
    },
    Setting {
        key: "providers.*.models.*.price.cache_read",
        kind: Kind::Dollars,
        default: "the catalog's, else unknown",
        example: "0.05",
        doc: "US dollars a million tokens read from the provider's cache.",
    },
    Setting {
        key: "providers.*.models.*.price.cache_write",
        kind: Kind::Dollars,
        default: "the catalog's, else unknown",
        example: "0.6",
        doc: "US dollars a million tokens written to the provider's cache.",
    },
    Setting {
        key: "tools.ask",
        kind: Kind::Texts,
        default: "[]",
        example: r#"["shell"]"#,
        doc: "The tools that ask before each call. Where nobody can be asked, the call is not run.",
    },
    Setting {
        key: "compaction.auto",
        kind: Kind::Flag,
        default: "true",
        example: "false",
        doc: "Whether a conversation near its context window is compacted without being asked.",
    },
    Setting {
        key: "extensions.allow",
        kind: Kind::Texts,
        default: "[]",
        example: r#"["notes"]"#,
        doc: "The only extensions that load, if there are any in the list.",
    },
    Setting {
        key: "extensions.deny",
        kind: Kind::Texts,
        default: "[]",
        example: r#"["notes"]"#,
        doc: "Extensions that never load.",
    },
    Setting {
        key: "extensions.paths",
        kind: Kind::Paths,
        default: "[]",
        example: r#"["../my-extensions"]"#,
        doc: "More extensions, and directories of them; relative paths start at the project's root.",
    },
    Setting {
        key: "extensions.rocks",
        kind: Kind::Texts,
        default: "[]",
        example: r#"["penlight"]"#,
        doc: "Installed rocks to load as extensions; `panto extension add` and `remove` keep the \
              user's list.",
    },
    Setting {
        key: "extensions.rocks_server",
        kind: Kind::Url,
        default: "those of `luarocks`",
        example: r#""http://127.0.0.1:8080""#,
        doc: "The server that `panto extension` takes rocks from.",
    },
    Setting {
        key: "extensions.settings.*",
        kind: Kind::Anything,
        default: "none",
        example: "{ concurrency = 4 }",
        doc: "What the extension of that name is given.",
    },
];

impl Kind {
    /// What fits, as messages and the reference page say it.
    pub fn expected(self) -> String {
        let text = match self {
            Kind::Text => "text in quotes",
            Kind::Url => "a URL in quotes, without a user name or a password",
            Kind::HeaderValue => "text in quotes without control characters",
            Kind::OneOf(words) => return format!("one of {}", quoted(words)),
            Kind::SomeOf(words) => return format!("a list of some of {}", quoted(words)),
            Kind::Texts => "a list of texts in quotes",
            Kind::Command => "a list of texts in quotes: a command and its arguments",
            Kind::Path => "a path in quotes",
            Kind::Paths => "a list of paths in quotes",
            Kind::Flag => "`true` or `false`",
            Kind::Seconds => "seconds as a number above 0 and up to 31536000",
            Kind::Count => "a whole number from 0 to 100",
            Kind::Tokens => "a whole number above 0",
            Kind::Dollars => "US dollars as a number from 0",
            Kind::Anything => "any value",
        };
        text.to_owned()
    }
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!(r#"`"{word}"`"#))
        .collect::<Vec<_>>()
        .join(", ")
}
