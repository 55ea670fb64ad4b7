//! Random scripts, and what else happens while they are played.

use std::time::Duration;

use pantograph::protocol::Purpose;
use pantograph::{ErrorClass, Sender, StopReason, Timing};
use pantograph_scripted::{Call, Fault, Script, Step, Text, Thinking};
use proptest::prelude::*;

use super::tools::TOOLS;

#[derive(Debug, Clone)]
pub(super) struct Case {
    answers: Vec<Answer>,
    summaries: Vec<Summary>,
    /// The model's context window, which may be too small for the first turn.
    pub(super) window: Option<u64>,
    /// What happens after so many events.
    pub(super) actions: Vec<(usize, Action)>,
    /// Cancel after so many events.
    pub(super) cancel: Option<usize>,
    /// The same by dropping the turn.
    pub(super) dropped: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Submit(Timing, Sender),
    /// The store fails for so many events.
    FailStore(usize),
    /// Another model from now on.
    SwitchModel,
}

#[derive(Debug, Clone)]
struct Answer {
    parts: Vec<Part>,
    limit: bool,
    fault: Option<(u64, Trouble)>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(u8),
    Thinking { signed: bool },
    Call { tool: usize, input: &'static str },
}

#[derive(Debug, Clone)]
enum Trouble {
    Error(ErrorClass),
    Disconnect,
    Stall,
    Delay,
}

#[derive(Debug, Clone)]
enum Summary {
    Whole,
    Cut,
    Empty,
    Trouble(Trouble),
}

pub(super) const INPUTS: [&str; 7] = [
    "{}",
    "",
    "null",
    r#"{"key":"value"}"#,
    r#"{"key":"#,
    "[1]",
    r#"{"key":"\ud83d"}"#,
];

pub(super) fn case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(answer(), 1..6),
        prop::collection::vec(summary(), 0..3),
        prop::sample::select(&[None, Some(1_200), Some(2_000)][..]),
        prop::collection::vec((0_usize..30, action()), 0..5),
        prop::option::of(0_usize..40),
        prop::bool::weighted(0.2),
    )
        .prop_map(
            |(answers, summaries, window, actions, cancel, dropped)| Case {
                answers,
                summaries,
                window,
                actions,
                cancel,
                dropped,
            },
        )
}

fn action() -> impl Strategy<Value = Action> {
    let timing = prop_oneof![Just(Timing::Steering), Just(Timing::FollowUp)];
    let sender = prop_oneof![Just(Sender::Person), Just(Sender::Code)];
    prop_oneof![
        6 => (timing, sender).prop_map(|(timing, sender)| Action::Submit(timing, sender)),
        1 => (1_usize..10).prop_map(Action::FailStore),
        1 => Just(Action::SwitchModel),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let inputs = prop::sample::select(INPUTS.as_slice());
    prop_oneof![
        (1_u8..5).prop_map(Part::Text),
        any::<bool>().prop_map(|signed| Part::Thinking { signed }),
        // One past the declared tools: a tool that the source has and the agent has not; two
        // past: one that nobody has.
        (0..TOOLS.len() + 2, inputs).prop_map(|(tool, input)| Part::Call { tool, input }),
    ]
}

fn trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![
        Just(Trouble::Error(ErrorClass::RateLimit)),
        Just(Trouble::Error(ErrorClass::Overloaded)),
        Just(Trouble::Error(ErrorClass::Server)),
        Just(Trouble::Error(ErrorClass::Transport)),
        Just(Trouble::Error(ErrorClass::Authentication)),
        Just(Trouble::Error(ErrorClass::InvalidRequest)),
        Just(Trouble::Error(ErrorClass::ContextOverflow)),
        Just(Trouble::Disconnect),
        Just(Trouble::Stall),
        Just(Trouble::Delay),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    (
        prop::collection::vec(part(), 0..4),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.4, (0_u64..8, trouble())),
    )
        .prop_map(|(parts, limit, fault)| Answer {
            parts,
            limit,
            fault,
        })
}

fn summary() -> impl Strategy<Value = Summary> {
    prop_oneof![
        3 => Just(Summary::Whole),
        1 => Just(Summary::Cut),
        1 => Just(Summary::Empty),
        2 => trouble().prop_map(Summary::Trouble),
    ]
}

impl Case {
    /// The script: each answer once, and summaries as long as they are wanted.
    pub(super) fn script(&self) -> Script {
        let answers = self.answers.iter().enumerate();
        let answers = answers.map(|(number, answer)| answer.step(number));
        let summaries = self.summaries.iter().map(Summary::step);
        let always = Summary::Whole.step().repeated();
        answers
            .chain(summaries)
            .chain([always])
            .fold(Script::new(), Script::step)
    }
}

impl Answer {
    /// The step, whose words no other answer has.
    fn step(&self, number: usize) -> Step {
        let mut step = Step::new().when_purpose(Purpose::Turn);
        for part in &self.parts {
            step = match part {
                Part::Text(chunks) => step.then(Text::new(words(number)).chunks((*chunks).into())),
                Part::Thinking { signed: true } => {
                    step.then(Thinking::new(words(number)).signature("signed"))
                }
                Part::Thinking { signed: false } => step.then(Thinking::new(words(number))),
                Part::Call { tool, input } => {
                    let name = TOOLS
                        .get(*tool)
                        .copied()
                        .unwrap_or_else(|| ["undeclared", "unknown"][tool - TOOLS.len()]);
                    // The same id in every answer: the agent must make them differ.
                    step.then(Call::with_raw_input(name, *input).id("same").chunks(3))
                }
            };
        }
        if self.limit {
            step = step.then(StopReason::Limit);
        }
        match &self.fault {
            None => step,
            Some((at, trouble)) => trouble.strike(step, *at),
        }
    }
}

/// What only this answer says.
pub(super) fn words(answer: usize) -> String {
    format!("<answer {answer}>")
}

impl Summary {
    fn step(&self) -> Step {
        let step = Step::new().when_purpose(Purpose::Compaction);
        match self {
            Summary::Whole => step.then("what was said before"),
            Summary::Cut => step.then("what was sa").then(StopReason::Limit),
            Summary::Empty => step,
            Summary::Trouble(trouble) => trouble.strike(step.then("what was said before"), 1),
        }
    }
}

impl Trouble {
    fn strike(&self, step: Step, at: u64) -> Step {
        match self {
            Trouble::Error(class) => step.at_event(at, *class),
            Trouble::Disconnect => step.at_event(at, Fault::Disconnect),
            Trouble::Stall => step.at_event(at, Fault::Stall),
            Trouble::Delay => step.at_event(at, Duration::from_secs(1)),
        }
    }
}
