//! Reasoning labels as servers take them.

use serde::Serialize;

use super::flags::{Efforts, ReasoningParameter};

/// What of a request depends on the reasoning label.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Switch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<Template<'a>>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Effort<'a> {
    effort: &'a str,
}

#[derive(Debug, PartialEq, Serialize)]
struct Switch {
    r#type: &'static str,
}

#[derive(Debug, PartialEq, Serialize)]
struct Template<'a> {
    enable_thinking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
}

impl<'a> Reasoning<'a> {
    /// Without a label the model does as it does by itself.
    pub(super) fn of(
        label: Option<&'a str>,
        parameter: ReasoningParameter,
        efforts: Efforts,
    ) -> Self {
        let nothing = Self::default();
        let Some(label) = label else {
            return nothing;
        };
        let effort = Some(label)
            .filter(|label| *label != "off")
            .map(|label| efforts.nearest(label));
        let thinks = effort.is_some();
        match parameter {
            ReasoningParameter::Effort => Self {
                reasoning_effort: Some(effort.unwrap_or("none")),
                ..nothing
            },
            ReasoningParameter::Object => Self {
                reasoning: Some(Effort {
                    effort: effort.unwrap_or("none"),
                }),
                ..nothing
            },
            ReasoningParameter::Switch => Self {
                thinking: Some(Switch {
                    r#type: match thinks {
                        true => "enabled",
                        false => "disabled",
                    },
                }),
                reasoning_effort: effort,
                ..nothing
            },
            ReasoningParameter::Template => Self {
                chat_template_kwargs: Some(Template {
                    enable_thinking: thinks,
                    thinking: None,
                    reasoning_effort: effort,
                }),
                ..nothing
            },
            ReasoningParameter::EffortAndTemplate => Self {
                reasoning_effort: effort,
                chat_template_kwargs: Some(Template {
                    enable_thinking: thinks,
                    thinking: Some(thinks),
                    reasoning_effort: None,
                }),
                ..nothing
            },
            ReasoningParameter::Unsent => nothing,
        }
    }
}

impl Efforts {
    /// The word for a label that lets a model think.
    fn nearest(self, label: &str) -> &str {
        match (self, label) {
            (Self::All, label) => label,
            (_, "minimal") => "low",
            (Self::NoneToHigh, "xhigh" | "max") => "high",
            (Self::NoneToMax, "xhigh") => "max",
            (_, label) => label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_where_the_server_looks() {
        let mut lines = Vec::new();
        for parameter in [
            ReasoningParameter::Effort,
            ReasoningParameter::Object,
            ReasoningParameter::Switch,
            ReasoningParameter::Template,
            ReasoningParameter::EffortAndTemplate,
            ReasoningParameter::Unsent,
        ] {
            for label in [None, Some("off"), Some("high")] {
                let json =
                    serde_json::to_string(&Reasoning::of(label, parameter, Efforts::All)).unwrap();
                lines.push(format!("{parameter:?} {}: {json}", label.unwrap_or("-")));
            }
        }
        insta::assert_snapshot!(lines.join("\n"), @r#"
        Effort -: {}
        Effort off: {"reasoning_effort":"none"}
        Effort high: {"reasoning_effort":"high"}
        Object -: {}
        Object off: {"reasoning":{"effort":"none"}}
        Object high: {"reasoning":{"effort":"high"}}
        Switch -: {}
        Switch off: {"thinking":{"type":"disabled"}}
        Switch high: {"reasoning_effort":"high","thinking":{"type":"enabled"}}
        Template -: {}
        Template off: {"chat_template_kwargs":{"enable_thinking":false}}
        Template high: {"chat_template_kwargs":{"enable_thinking":true,"reasoning_effort":"high"}}
        EffortAndTemplate -: {}
        EffortAndTemplate off: {"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}
        EffortAndTemplate high: {"reasoning_effort":"high","chat_template_kwargs":{"enable_thinking":true,"thinking":true}}
        Unsent -: {}
        Unsent off: {}
        Unsent high: {}
        "#);
    }

    #[test]
    fn labels_become_the_nearest_word_that_the_server_takes() {
        let labels = ["minimal", "low", "medium", "high", "xhigh", "max"];
        let shown = [Efforts::All, Efforts::NoneToHigh, Efforts::NoneToMax]
            .map(|efforts| labels.map(|label| efforts.nearest(label)).join(" "));
        insta::assert_snapshot!(shown.join("\n"), @"
        minimal low medium high xhigh max
        low low medium high high high
        low low medium high max max
        ");
    }
}
