//! Models as the data has them, and as they are handed out.

use pantograph::{ForcedTool, Price, ReasoningControl};
use serde::Deserialize;

/// A current model of a [`CatalogProvider`](super::CatalogProvider).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CatalogModel {
    /// Its name on the wire, and in model references.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// When it came out, as `YYYY-MM-DD`.
    pub released: &'static str,
    /// Tokens that a request and its answer may hold together.
    pub context_window: u64,
    /// Tokens that an answer may have.
    pub max_output: u64,
    /// What it costs; where the price grows with the request, that of a small one.
    pub price: Option<Price>,
    /// The reasoning labels that it takes, from none to most; `off` among them only if it can be
    /// told not to think. Empty with [`ReasoningControl::None`], and only then.
    pub reasoning: Vec<&'static str>,
    /// How it takes a label.
    pub reasoning_control: ReasoningControl,
    /// Whether it takes images.
    pub images: bool,
    /// Whether it takes PDF documents.
    pub pdf: bool,
    /// Whether it can be made to call a tool.
    pub forced_tool: ForcedTool,
}

/// One file of the data.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) source: &'static str,
    pub(super) date: &'static str,
    pub(super) models: Vec<CatalogModel>,
}

impl Cut {
    pub(super) const fn nothing() -> Self {
        Self {
            source: "",
            date: "",
            models: Vec::new(),
        }
    }

    pub(super) fn parse(json: &'static str) -> Result<Self, serde_json::Error> {
        let file: File = serde_json::from_str(json)?;
        Ok(Self {
            source: file.source,
            date: file.date,
            models: file
                .models
                .into_iter()
                .map(CatalogModel::try_from)
                .collect::<Result<_, _>>()
                .map_err(serde::de::Error::custom)?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: &'static str,
    date: &'static str,
    models: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: &'static str,
    name: &'static str,
    released: &'static str,
    context_window: u64,
    max_output: u64,
    price: Price,
    reasoning: Vec<&'static str>,
    reasoning_control: &'static str,
    images: bool,
    pdf: bool,
    forced_tool: &'static str,
}

impl TryFrom<Row> for CatalogModel {
    type Error = String;

    fn try_from(row: Row) -> Result<Self, String> {
        let unknown = |what: &str| format!("`{}` has an unknown {what}", row.id);
        Ok(Self {
            id: row.id,
            name: row.name,
            released: row.released,
            context_window: row.context_window,
            max_output: row.max_output,
            price: Some(row.price).filter(|price| *price != Price::default()),
            reasoning_control: ReasoningControl::parse(row.reasoning_control)
                .ok_or_else(|| unknown("reasoning_control"))?,
            forced_tool: ForcedTool::parse(row.forced_tool)
                .ok_or_else(|| unknown("forced_tool"))?,
            images: row.images,
            pdf: row.pdf,
            reasoning: row.reasoning,
        })
    }
}
