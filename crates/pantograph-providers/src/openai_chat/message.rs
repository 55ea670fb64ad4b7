//! A message as it is sent.

use std::borrow::Cow;

use pantograph::RawJson;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::attachment::{DataUrl, File};
use crate::history::Call;
use crate::prompt_cache::{CacheControl, EPHEMERAL};

/// One message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Message<'a> {
    System {
        content: Body<'a>,
    },
    Developer {
        content: Body<'a>,
    },
    User {
        content: Body<'a>,
    },
    Assistant(Answer<'a>),
    Tool {
        tool_call_id: &'a str,
        content: Body<'a>,
    },
}

/// What is said. One text is sent as such: not every server takes a list of parts.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<MarkedPiece<'a>>),
}

/// What the model said.
#[derive(Default, Serialize)]
pub(super) struct Answer<'a> {
    /// `null` beside calls.
    pub(super) content: Option<Body<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasoning_details: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    /// What its provider put beside it, such as a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawJson>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// A part and, perhaps, a mark up to which the provider keeps the request.
#[derive(Serialize)]
pub(super) struct MarkedPiece<'a> {
    #[serde(flatten)]
    piece: Piece<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'a> {
    Text { text: Cow<'a, str> },
    Thinking { thinking: [PlainText<'a>; 1] },
    ImageUrl { image_url: Image<'a> },
    File { file: Document<'a> },
}

#[derive(Serialize)]
pub(super) struct PlainText<'a> {
    r#type: &'static str,
    text: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct Image<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
pub(super) struct Document<'a> {
    /// Wanted, and shown to nobody.
    filename: &'static str,
    file_data: DataUrl<'a>,
}

/// Whether a single text may be sent as such.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Parts,
}

impl Form {
    /// Only parts can be marked.
    pub(super) fn of(marks: bool) -> Self {
        match marks {
            true => Self::Parts,
            false => Self::Plain,
        }
    }
}

impl<'a> Body<'a> {
    /// What these say together.
    pub(super) fn of(pieces: Vec<Piece<'a>>, form: Form) -> Self {
        let mut texts: Vec<Cow<'a, str>> = Vec::new();
        let mut parts: Vec<MarkedPiece<'a>> = Vec::new();
        for piece in pieces {
            match piece {
                // Until there is something else, texts may still be all.
                Piece::Text { text } if form == Form::Plain && parts.is_empty() => texts.push(text),
                piece => {
                    parts.extend(texts.drain(..).map(Piece::text).map(MarkedPiece::from));
                    parts.push(piece.into());
                }
            }
        }
        if !parts.is_empty() {
            return Self::Parts(parts);
        }
        match <[Cow<'a, str>; 1]>::try_from(texts) {
            Ok([text]) => Self::Text(text),
            Err(texts) => Self::Text(Cow::Owned(texts.join("\n\n"))),
        }
    }
}

impl MarkedPiece<'_> {
    pub(super) fn mark(&mut self) {
        self.cache_control = Some(EPHEMERAL);
    }
}

impl<'a> From<Piece<'a>> for MarkedPiece<'a> {
    fn from(piece: Piece<'a>) -> Self {
        Self {
            piece,
            cache_control: None,
        }
    }
}

impl<'a> Piece<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    pub(super) fn thinking(text: Cow<'a, str>) -> Self {
        Self::Thinking {
            thinking: [PlainText {
                r#type: "text",
                text,
            }],
        }
    }

    pub(super) fn file(file: &'a File) -> Self {
        let url = DataUrl(file);
        match file.is_image() {
            true => Self::ImageUrl {
                image_url: Image { url },
            },
            false => Self::File {
                file: Document {
                    filename: "document.pdf",
                    file_data: url,
                },
            },
        }
    }
}

impl<'a> From<&'a Call<'a>> for ToolCall<'a> {
    fn from(call: &'a Call<'a>) -> Self {
        Self {
            id: call.id,
            r#type: "function",
            function: Function {
                name: &call.name,
                arguments: call.input.as_str(),
            },
            extra_content: call.raw,
        }
    }
}
