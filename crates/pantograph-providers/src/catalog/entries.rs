//! The providers, by hand: where they are and how one gets a key.

use super::CatalogProvider;

/// What most of them have in common.
const BLANK: CatalogProvider = CatalogProvider {
    name: "",
    title: "",
    protocol: "openai-chat",
    base_url: "",
    server: None,
    key_variables: &[],
    key_page: None,
    default_model: None,
    json: None,
};

/// In the order in which a key is looked for, then servers on one's own machine.
pub(super) static PROVIDERS: [CatalogProvider; 14] = [
    CatalogProvider {
        name: "anthropic",
        title: "Anthropic",
        protocol: "anthropic-messages",
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        key_page: Some("https://platform.claude.com/settings/keys"),
        default_model: Some("claude-sonnet-5-5"),
        json: Some(include_str!("../../catalog/anthropic.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "openai",
        title: "OpenAI",
        protocol: "openai-responses",
        base_url: "https://api.openai.com/v1",
        // For whoever prefers `openai-chat` with it.
        server: Some("openai"),
        key_variables: &["OPENAI_API_KEY"],
        key_page: Some("https://platform.openai.com/api-keys"),
        default_model: Some("gpt-6.1-sol"),
        json: Some(include_str!("../../catalog/openai.json")),
    },
    CatalogProvider {
        name: "google",
        title: "Google Gemini",
        protocol: "google-generate",
        base_url: "https://generativelanguage.googleapis.com",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        key_page: Some("https://aistudio.google.com/apikey"),
        // One that keys without a bill may use too.
        default_model: Some("gemini-3.8-flash"),
        json: Some(include_str!("../../catalog/google.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        server: Some("openrouter"),
        key_variables: &["OPENROUTER_API_KEY"],
        key_page: Some("https://openrouter.ai/settings/keys"),
        default_model: Some("anthropic/claude-sonnet-5.5"),
        json: Some(include_str!("../../catalog/openrouter.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "deepseek",
        title: "DeepSeek",
        base_url: "https://api.deepseek.com/v1",
        server: Some("deepseek"),
        key_variables: &["DEEPSEEK_API_KEY"],
        key_page: Some("https://platform.deepseek.com/api_keys"),
        default_model: Some("deepseek-v4-pro"),
        json: Some(include_str!("../../catalog/deepseek.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "mistral",
        title: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        server: Some("mistral"),
        key_variables: &["MISTRAL_API_KEY"],
        key_page: Some("https://console.mistral.ai/api-keys"),
        default_model: Some("mistral-medium-latest"),
        json: Some(include_str!("../../catalog/mistral.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "groq",
        title: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        server: Some("groq"),
        key_variables: &["GROQ_API_KEY"],
        key_page: Some("https://console.groq.com/keys"),
        default_model: Some("openai/gpt-oss-120b"),
        json: Some(include_str!("../../catalog/groq.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "xai",
        title: "xAI",
        base_url: "https://api.x.ai/v1",
        server: Some("xai"),
        key_variables: &["XAI_API_KEY"],
        key_page: Some("https://console.x.ai"),
        default_model: Some("grok-4.7"),
        json: Some(include_str!("../../catalog/xai.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "moonshot",
        title: "Moonshot AI",
        base_url: "https://api.moonshot.ai/v1",
        // Wants its thinking back as DeepSeek does. Its older models take the same parameters;
        // from Kimi K3 on they take the effort and do not heed the switch beside it.
        server: Some("deepseek"),
        key_variables: &["MOONSHOT_API_KEY"],
        key_page: Some("https://platform.moonshot.ai/console/api-keys"),
        default_model: Some("kimi-k3.1-pro"),
        json: Some(include_str!("../../catalog/moonshot.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "zai",
        title: "Z.ai",
        base_url: "https://api.z.ai/api/paas/v4",
        // Takes the same parameters as DeepSeek, and wants its thinking back in the same way.
        server: Some("deepseek"),
        key_variables: &["ZAI_API_KEY"],
        key_page: Some("https://z.ai/manage-apikey/apikey-list"),
        default_model: Some("glm-5.3"),
        json: Some(include_str!("../../catalog/zai.json")),
        ..BLANK
    },
    CatalogProvider {
        name: "ollama",
        title: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        server: Some("ollama"),
        ..BLANK
    },
    CatalogProvider {
        name: "llama-cpp",
        title: "llama.cpp",
        base_url: "http://127.0.0.1:8080/v1",
        server: Some("llama-cpp"),
        ..BLANK
    },
    CatalogProvider {
        name: "vllm",
        title: "vLLM",
        base_url: "http://127.0.0.1:8000/v1",
        server: Some("vllm"),
        ..BLANK
    },
    CatalogProvider {
        name: "lm-studio",
        title: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        ..BLANK
    },
];
