//! Which model answers, and the limits that hold for it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::governor::Governor;
use crate::message::Origin;
use crate::protocol::ToolChoice;
use crate::retry::RetryPolicy;
use crate::usage::Price;

/// A model as users write it: `provider:alias`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    provider: String,
    alias: String,
}

/// Why a text is not a [`ModelRef`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `provider:alias`, got `{0}`")]
pub struct InvalidModelRef(pub String);

impl ModelRef {
    /// Reads `provider:alias`, split at the first colon.
    ///
    /// The provider is made of letters, digits, `_` and `-`; the alias is any text without
    /// blanks or control characters.
    ///
    /// # Errors
    ///
    /// [`InvalidModelRef`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InvalidModelRef> {
        let invalid = || InvalidModelRef(text.to_owned());
        let (provider, alias) = text.split_once(':').ok_or_else(invalid)?;
        let provider_ok = !provider.is_empty()
            && provider
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let alias_ok =
            !alias.is_empty() && !alias.chars().any(|c| c.is_whitespace() || c.is_control());
        if provider_ok && alias_ok {
            Ok(Self {
                provider: provider.to_owned(),
                alias: alias.to_owned(),
            })
        } else {
            Err(invalid())
        }
    }

    /// The configured provider.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model's name within the provider.
    pub fn alias(&self) -> &str {
        &self.alias
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.alias)
    }
}

/// A model, ready to be asked: everything about it but the protocol.
#[derive(Clone)]
pub struct Model {
    /// How users name it.
    pub reference: ModelRef,
    /// Its name on the wire.
    pub wire_model: String,
    /// Where its provider is reached, if the protocol has a place. What may be secret in it is
    /// neither recorded nor shown.
    pub base_url: Option<String>,
    /// The reasoning label in force; the protocol maps it.
    pub reasoning: Option<String>,
    /// How the model takes a reasoning label; `None` means as its protocol's newest models do.
    pub reasoning_control: Option<ReasoningControl>,
    /// Which attachments the model takes. For any other it gets a line of text.
    pub attachments: Attachments,
    /// Whether it can be made to call a tool.
    pub forced_tool: ForcedTool,
    /// How many tokens a request and its answer may hold together.
    /// Without it no compaction starts by itself.
    pub context_window: Option<u64>,
    /// How many tokens an answer may have.
    pub max_output: Option<u64>,
    /// What it costs.
    pub price: Option<Price>,
    /// How long it may take.
    pub limits: StreamLimits,
    /// How failed attempts are repeated.
    pub retry: RetryPolicy,
    /// Shared by every agent that asks the same provider.
    pub governor: Arc<Governor>,
}

impl Model {
    /// A model without known limits or price, named `reference` on the wire's side as `alias`.
    pub fn new(reference: ModelRef) -> Self {
        Self {
            wire_model: reference.alias().to_owned(),
            reference,
            base_url: None,
            reasoning: None,
            reasoning_control: None,
            attachments: Attachments::ALL,
            forced_tool: ForcedTool::default(),
            context_window: None,
            max_output: None,
            price: None,
            limits: StreamLimits::default(),
            retry: RetryPolicy::default(),
            governor: Arc::new(Governor::default()),
        }
    }

    /// The reasoning label that holds for an answer to `choice`.
    ///
    /// [`Model::reasoning`], but `off` where the model cannot both think and be made to call a
    /// tool, and none where it takes none. Without a label that holds for a model whose control is
    /// known: it may think unasked.
    pub fn effective_reasoning(&self, choice: &ToolChoice) -> Option<&str> {
        if self.reasoning_control == Some(ReasoningControl::None) {
            return None;
        }
        let forced = matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
        match self.reasoning.as_deref() {
            label
                if forced
                    && self.forced_tool == ForcedTool::WithoutThinking
                    && (label.is_some() || self.reasoning_control.is_some()) =>
            {
                Some("off")
            }
            label => label,
        }
    }

    /// What is recorded on the messages that it produces over the protocol `style`.
    pub fn origin(&self, style: &str) -> Origin {
        Origin {
            style: style.to_owned(),
            base_url: self.base_url.as_deref().map(without_secrets),
            model: self.wire_model.clone(),
            reference: self.reference.to_string(),
            reasoning: self.reasoning.clone(),
        }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("reference", &self.reference)
            .field("wire_model", &self.wire_model)
            .field("base_url", &self.base_url.as_deref().map(without_secrets))
            .field("reasoning", &self.reasoning)
            .field("context_window", &self.context_window)
            .field("max_output", &self.max_output)
            .field("price", &self.price)
            .field("attachments", &self.attachments)
            .field("forced_tool", &self.forced_tool)
            .field("reasoning_control", &self.reasoning_control)
            .field("limits", &self.limits)
            .field("retry", &self.retry)
            .field("governor", &self.governor)
            .finish()
    }
}

/// A URL without the parts that may hold a key: user information, query and fragment.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// Which kinds of attachments a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachments {
    /// Images.
    pub images: bool,
    /// Documents, such as PDFs.
    pub documents: bool,
}

impl Attachments {
    /// Every kind.
    pub const ALL: Self = Self {
        images: true,
        documents: true,
    };

    /// No kind.
    pub const NONE: Self = Self {
        images: false,
        documents: false,
    };

    /// Whether an attachment of this media type is of a kind that it takes.
    pub fn takes(self, media_type: &str) -> bool {
        match media_type.starts_with("image/") {
            true => self.images,
            false => self.documents,
        }
    }
}

/// Every kind or none.
impl From<bool> for Attachments {
    fn from(takes: bool) -> Self {
        match takes {
            true => Self::ALL,
            false => Self::NONE,
        }
    }
}

/// Whether a model can be made to call a tool, see [`ToolChoice`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ForcedTool {
    /// Whether it thinks or not.
    Yes,
    /// Only while it does not think; reasoning is turned off for such an answer.
    #[default]
    WithoutThinking,
    /// Never; it is asked for the call in words.
    No,
}

impl ForcedTool {
    /// Reads the name that settings have for it; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "yes" => Self::Yes,
            "without_thinking" => Self::WithoutThinking,
            "no" => Self::No,
            _ => return None,
        })
    }

    /// The name that [`ForcedTool::parse`] reads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::WithoutThinking => "without_thinking",
            Self::No => "no",
        }
    }
}

/// How a model takes a reasoning label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningControl {
    /// As a word, and decides itself how much to think.
    Effort,
    /// As a number of tokens that thinking may take.
    Budget,
    /// Not at all: the model does not think, or cannot be told how much.
    None,
}

impl ReasoningControl {
    /// Reads the name that settings have for it; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "effort" => Self::Effort,
            "budget" => Self::Budget,
            "none" => Self::None,
            _ => return None,
        })
    }

    /// The name that [`ReasoningControl::parse`] reads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Effort => "effort",
            Self::Budget => "budget",
            Self::None => "none",
        }
    }
}

/// How long the parts of one attempt may take; `None` means for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Until [`crate::protocol::Protocol::open`] has a connection.
    pub connect: Option<Duration>,
    /// Between two events. Bytes that carry no event, such as keep-alive comments, do not count.
    pub idle: Option<Duration>,
    /// From the start of the attempt to its last event.
    pub total: Option<Duration>,
}

impl Default for StreamLimits {
    /// 20 s to connect, 300 s between events (models may think in silence), no total.
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(20)),
            idle: Some(Duration::from_secs(300)),
            total: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_gives_way_to_a_forced_tool_only_where_they_clash() {
        let cases = [
            (ForcedTool::Yes, ToolChoice::Required, Some("high")),
            (ForcedTool::No, ToolChoice::Required, Some("high")),
            (ForcedTool::WithoutThinking, ToolChoice::Auto, Some("high")),
            (ForcedTool::WithoutThinking, ToolChoice::None, Some("high")),
            (
                ForcedTool::WithoutThinking,
                ToolChoice::Required,
                Some("off"),
            ),
            (
                ForcedTool::WithoutThinking,
                ToolChoice::Named("read".into()),
                Some("off"),
            ),
        ];
        for (forced_tool, choice, expected) in cases {
            let mut model = Model::new(ModelRef::parse("a:b").unwrap());
            model.forced_tool = forced_tool;
            assert_eq!(model.effective_reasoning(&choice), None);
            model.reasoning = Some("high".into());
            assert_eq!(
                model.effective_reasoning(&choice),
                expected,
                "{forced_tool:?}"
            );
        }
    }

    #[test]
    fn a_model_that_may_think_unasked_does_not_when_a_tool_is_forced() {
        let mut model = Model::new(ModelRef::parse("a:b").unwrap());
        model.reasoning_control = Some(ReasoningControl::Effort);
        assert_eq!(model.effective_reasoning(&ToolChoice::Auto), None);
        assert_eq!(
            model.effective_reasoning(&ToolChoice::Required),
            Some("off")
        );
    }

    #[test]
    fn a_model_that_takes_no_label_gets_none() {
        let mut model = Model::new(ModelRef::parse("a:b").unwrap());
        model.reasoning = Some("high".into());
        model.reasoning_control = ReasoningControl::parse("none");
        for choice in [ToolChoice::Auto, ToolChoice::Required] {
            assert_eq!(model.effective_reasoning(&choice), None);
        }
    }

    #[test]
    fn settings_have_one_name_for_each_value() {
        for control in [
            ReasoningControl::Effort,
            ReasoningControl::Budget,
            ReasoningControl::None,
        ] {
            assert_eq!(ReasoningControl::parse(control.as_str()), Some(control));
        }
        for forced in [ForcedTool::Yes, ForcedTool::WithoutThinking, ForcedTool::No] {
            assert_eq!(ForcedTool::parse(forced.as_str()), Some(forced));
        }
    }

    #[test]
    fn references_split_at_the_first_colon_only() {
        let cases = [
            ("anthropic:sonnet", Some(("anthropic", "sonnet"))),
            ("ollama:qwen:7b", Some(("ollama", "qwen:7b"))),
            ("hf:owner/name", Some(("hf", "owner/name"))),
            ("sonnet", None),
            (":x", None),
            ("x:", None),
            ("a b:c", None),
            ("a/b:c", None),
            ("a:b c", None),
        ];
        for (text, expected) in cases {
            let parsed = ModelRef::parse(text).ok();
            let parts = parsed.as_ref().map(|r| (r.provider(), r.alias()));
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn what_may_be_secret_in_a_url_is_neither_recorded_nor_shown() {
        let mut model = Model::new(ModelRef::parse("a:b").unwrap());
        for (url, shown) in [
            ("https://me:secret@host/v1?key=secret", "https://host/v1"),
            ("https://host?key=secret#secret", "https://host"),
            ("http://127.0.0.1:8080/v1/@x", "http://127.0.0.1:8080/v1/@x"),
            ("host/v1", "host/v1"),
        ] {
            model.base_url = Some(url.to_owned());
            assert_eq!(model.origin("style").base_url.as_deref(), Some(shown));
            assert!(!format!("{model:?}").contains("secret"));
        }
    }
}
