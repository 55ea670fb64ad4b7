//! The providers that are built in, as far as their keys go.

/// A provider that is built in.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// The environment variables that hold its key by custom, best first.
    pub(super) variables: &'static [&'static str],
    /// Where a person gets a key.
    pub(super) key_page: &'static str,
}

/// All of them.
pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "anthropic",
        variables: &["ANTHROPIC_API_KEY"],
        key_page: "https://console.anthropic.com/settings/keys",
    },
    Known {
        name: "openai",
        variables: &["OPENAI_API_KEY"],
        key_page: "https://platform.openai.com/api-keys",
    },
    Known {
        name: "google",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        key_page: "https://aistudio.google.com/apikey",
    },
    Known {
        name: "openrouter",
        variables: &["OPENROUTER_API_KEY"],
        key_page: "https://openrouter.ai/settings/keys",
    },
    Known {
        name: "deepseek",
        variables: &["DEEPSEEK_API_KEY"],
        key_page: "https://platform.deepseek.com/api_keys",
    },
    Known {
        name: "mistral",
        variables: &["MISTRAL_API_KEY"],
        key_page: "https://console.mistral.ai/api-keys",
    },
    Known {
        name: "groq",
        variables: &["GROQ_API_KEY"],
        key_page: "https://console.groq.com/keys",
    },
    Known {
        name: "xai",
        variables: &["XAI_API_KEY"],
        key_page: "https://console.x.ai",
    },
];

/// The built-in provider of that name.
pub(super) fn of(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}
