//! One step of a script file.

use std::collections::BTreeMap;

use pantograph::Role;
use pantograph::protocol::Purpose;
use serde::Deserialize;

use super::checked::read_checked;
use super::item::{FaultEntry, ItemEntry, Played};
use crate::matcher::Matcher;
use crate::step::Step;
use crate::take::Take;

/// A step, checked.
pub(super) struct StepEntry(Step);

read_checked!(StepEntry: StepKeys);

impl StepEntry {
    pub(super) fn into_step(self) -> Step {
        self.0
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepKeys {
    #[serde(default)]
    when: When,
    #[serde(default)]
    take: BTreeMap<String, TakeKeys>,
    #[serde(default)]
    repeat: bool,
    #[serde(default)]
    ignore_cancel: bool,
    #[serde(default)]
    open: Vec<FaultEntry>,
    play: Option<Vec<ItemEntry>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    asked: Option<String>,
    last: Option<String>,
    last_role: Option<Role>,
    system: Option<String>,
    label: Option<String>,
    model: Option<String>,
    purpose: Option<PurposeName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TakeKeys {
    result: Option<String>,
    #[serde(default)]
    after: String,
    until: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PurposeName {
    Turn,
    Compaction,
}

impl TryFrom<StepKeys> for StepEntry {
    type Error = &'static str;

    fn try_from(keys: StepKeys) -> Result<Self, Self::Error> {
        if keys.play.is_none() && keys.open.is_empty() {
            return Err("a step needs `play`, or `open` with a failure");
        }
        let mut step = Step {
            matcher: keys.when.into(),
            takes: keys.take.into_iter().map(named_take).collect(),
            repeats: keys.repeat,
            ignores_cancel: keys.ignore_cancel,
            ..Step::new()
        };
        for fault in keys.open {
            step = step.on_open(fault.into_fault());
        }
        for item in keys.play.unwrap_or_default() {
            step = match item.into_played() {
                Played::InOrder(item) => step.then(item),
                Played::AtEvent(events, fault) => step.at_event(events, fault),
            };
        }
        Ok(Self(step))
    }
}

fn named_take((name, keys): (String, TakeKeys)) -> (String, Take) {
    let take = Take {
        result: keys.result,
        after: keys.after,
        until: keys.until,
    };
    (name, take)
}

impl From<When> for Matcher {
    fn from(when: When) -> Self {
        Self {
            asked: when.asked,
            last: when.last,
            last_role: when.last_role,
            system: when.system,
            label: when.label,
            model: when.model,
            purpose: when.purpose.map(|purpose| match purpose {
                PurposeName::Turn => Purpose::Turn,
                PurposeName::Compaction => Purpose::Compaction,
            }),
        }
    }
}
