//! Which reasoning label is in force.

use pantograph::{ModelRef, ReasoningControl};

use super::{ChoiceRequest, ChoiceWarning, ChooseError, ChosenBy, Models, OfferedModel};
use crate::config::REASONING;
use crate::nearest::did_you_mean;

impl Models {
    /// The label that is in force, if any. What the command line asks for must fit; what the
    /// configuration sets holds for all models, and becomes the nearest that this one knows.
    pub(super) fn reasoning(
        &self,
        request: &ChoiceRequest<'_>,
        reference: &ModelRef,
        listed: Option<&OfferedModel>,
        warnings: &mut Vec<ChoiceWarning>,
    ) -> Result<Option<String>, ChooseError> {
        let (label, by) = match (request.reasoning, &self.config.reasoning) {
            (Some(label), _) => (label, ChosenBy::CommandLine("--reasoning")),
            (None, Some(set)) => (set.as_str(), ChosenBy::Config(Box::new(set.source.clone()))),
            (None, None) => return Ok(None),
        };
        let protocol = self.protocol_name(reference.provider());
        let is_late = protocol.is_some_and(|name| self.registry.is_late(&name));
        // The labels of an extension's protocol are known once it is registered.
        if is_late && listed.is_none_or(|listed| listed.reasoning.is_none()) {
            return Ok(Some(label.to_owned()));
        }
        if !REASONING.contains(&label) {
            return Err(ChooseError::UnknownReasoning {
                label: label.to_owned(),
                by,
                near: did_you_mean(label, REASONING.iter().copied()),
            });
        }
        let Some(listed) = listed else {
            return Ok(Some(label.to_owned()));
        };
        if listed.reasoning_control == Some(ReasoningControl::None) {
            if label != "off" {
                warnings.push(ChoiceWarning::NoReasoning {
                    model: reference.clone(),
                    label: label.to_owned(),
                    by,
                });
            }
            return Ok(None);
        }
        let Some(known) = &listed.reasoning else {
            return Ok(Some(label.to_owned()));
        };
        if known.iter().any(|known| known == label) {
            return Ok(Some(label.to_owned()));
        }
        if request.reasoning.is_some() {
            return Err(ChooseError::Reasoning {
                model: reference.clone(),
                label: label.to_owned(),
                by,
                known: known.clone(),
                listed: Box::new(listed.reasoning_source.clone()),
            });
        }
        let taken = nearest_label(label, known);
        let (model, label) = (reference.clone(), label.to_owned());
        warnings.push(match taken.clone() {
            Some(taken) => ChoiceWarning::NearestReasoning {
                model,
                label,
                by,
                taken,
            },
            None => ChoiceWarning::NoReasoning { model, label, by },
        });
        Ok(taken)
    }
}

/// The label of `known` that is the fewest steps from `label`; of two the lower.
fn nearest_label(label: &str, known: &[String]) -> Option<String> {
    let step = |label: &str| REASONING.iter().position(|known| *known == label);
    let wanted = step(label)?;
    let steps = known.iter().filter_map(|known| Some((step(known)?, known)));
    let nearest = steps.min_by_key(|(step, _)| (step.abs_diff(wanted), *step));
    nearest.map(|(_, label)| label.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_label_is_the_lower_of_two() {
        let nearest = |label, known: &[&str]| {
            let known: Vec<_> = known.iter().map(|label| (*label).to_owned()).collect();
            nearest_label(label, &known)
        };
        let is = |label: &str| Some(label.to_owned());
        assert_eq!(nearest("medium", &["high", "low"]), is("low"));
        assert_eq!(nearest("max", &["off", "low", "high"]), is("high"));
        assert_eq!(nearest("off", &["high", "low"]), is("low"));
        assert_eq!(nearest("minimal", &["low", "high"]), is("low"));
        assert_eq!(nearest("high", &[]), None);
    }
}
