//! Random conversations that are valid and as hostile as valid ones can be.
//!
//! They hold what an agent keeps to: each call has one result right after its message, a user
//! speaks before the model does, ids are unique. The rest is anything: blank and odd texts, ids
//! and names that few take, inputs that are no JSON, answers that were cut, items of providers
//! here and elsewhere, system messages anywhere, schemas of every kind.

mod answers;
mod tools;

use std::collections::HashSet;
use std::sync::Arc;

use pantograph::protocol::{Purpose, Request, ToolChoice};
use pantograph::{
    Attachment, Attachments, Block, ForcedTool, Model, ReasoningControl, Role, StopReason,
    ToolContent, ToolSet, ToolStatus,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::conversation::{Log, Native, call, origin, result};
pub(crate) use answers::Home;
use answers::Speaker;
use tools::declarations;

/// A conversation and how an answer to it is asked for, before it is known who is asked.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    rounds: Vec<Round>,
    summary: Option<String>,
    prompt: Option<String>,
    tools: Vec<usize>,
    choice: ToolChoice,
    label: Option<&'static str>,
    control: Option<ReasoningControl>,
    forced_tool: ForcedTool,
    attachments: Attachments,
    max_output: Option<u64>,
    compaction: bool,
}

/// What the system and the user say, and what the model does then.
#[derive(Debug, Clone)]
struct Round {
    system: Option<String>,
    users: Vec<Vec<Said>>,
    answers: Vec<Answer>,
}

#[derive(Debug, Clone)]
enum Said {
    Text(String),
    File(Attachment),
}

/// One answer, with results if it calls.
#[derive(Debug, Clone)]
struct Answer {
    speaker: usize,
    thinking: Option<Thought>,
    opaque: bool,
    texts: Vec<String>,
    calls: Vec<Called>,
    /// Cancelled, or cut by the limit, if there are no calls.
    is_cut: bool,
    /// A user who does not wait.
    steering: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Thought {
    Whole,
    /// It was cut before its signature.
    Cut,
    /// Between two whole ones, something blank is said.
    Twice,
}

#[derive(Debug, Clone)]
struct Called {
    id: &'static str,
    name: &'static str,
    input: &'static str,
    status: ToolStatus,
    content: Vec<Said>,
}

const LABELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];

const IDS: &[&str] = &[
    "toolu_01A",
    "call_1",
    "abcdef123",
    "",
    "call 1|fc_é",
    "call/1",
    "c\0",
    "-",
    "_",
    "0123456789012345678901234567890123456789",
    "01234567890123456789012345678901234567890",
    "0123456789012345678901234567890123456789012345678901234567890123",
    "01234567890123456789012345678901234567890123456789012345678901234",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef",
];

const NAMES: &[&str] = &[
    "files.read",
    "files__read",
    "find",
    "odd.schema",
    "gone.tool",
    "",
    "a b",
    "ünï.cödé",
    "a\0b",
    "x.0123456789012345678901234567890123456789012345678901234567890123456789",
    "multi_tool_use.parallel",
];

const INPUTS: &[&str] = &[
    "{}",
    r#"{"path":"a"}"#,
    "",
    " ",
    "null",
    "[1]",
    "\"text\"",
    "7",
    r#"{"a":"#,
    "}{",
    r#"{"a":"\ud800"}"#,
    r#"{"a":"\u0000","\u0000":1}"#,
    r#"{"a":"\\u0000"}"#,
    r#"{"a":1,"a":2}"#,
    r#" { "a" : 1e400 } "#,
    r#"{"a":[[[[[[[[{"b":{}}]]]]]]]]}"#,
    "{\"a\":\"\u{1}\"}",
    "<xml/>",
];

const TEXTS: &[&str] = &[
    "",
    " ",
    "\n\t ",
    "\0",
    "\u{1c}",
    "\u{feff}",
    "\u{2028}\u{a0}",
    "\u{1}\u{1f}",
    "a\0b",
    "Hello.",
    "It ends blank. \n",
    " it begins so",
    "\\ud800 \\u0000",
    "é\u{301}🦀\u{10ffff}",
    "\u{1b}[31mred\u{1b}[0m",
    "</summary>",
    "{\"role\":\"system\"}",
    "\u{202e}reversed",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(TEXTS).prop_map(str::to_owned),
        2 => ".{0,40}",
        1 => Just("long ".repeat(2_000)),
    ]
}

fn file() -> impl Strategy<Value = Attachment> {
    let png = |side: u32| {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(side.to_be_bytes());
        bytes.extend(side.to_be_bytes());
        bytes
    };
    prop_oneof![
        4 => Just(Attachment::new("image/png", png(32))),
        1 => Just(Attachment::new("image/jpeg", png(8_001))),
        1 => Just(Attachment::new("image/gif", b"GIF89a\x01\0\x01\0".to_vec())),
        1 => Just(Attachment::new("image/webp", b"RIFF\0\0\0\0WEBPVP8L".to_vec())),
        1 => Just(Attachment::new("image/jpeg", b"\xFF\xD8\xFF\xD9".to_vec())),
        1 => Just(Attachment::new("image/bmp", b"BM".to_vec())),
        1 => Just(Attachment::new("image/png", Vec::new())),
        1 => Just(Attachment::new("application/pdf", b"%PDF-1.7".to_vec())),
        1 => Just(Attachment::new("video/\0mp4", vec![1, 2, 3])),
        1 => Just(Attachment::from_file("image/png", "/nonexistent/image.png")),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![3 => text().prop_map(Said::Text), 1 => file().prop_map(Said::File)]
}

fn called() -> impl Strategy<Value = Called> {
    (
        select(IDS),
        select(NAMES),
        select(INPUTS),
        select(&[ToolStatus::Ok, ToolStatus::Error, ToolStatus::Cancelled][..]),
        proptest::collection::vec(said(), 0..3),
    )
        .prop_map(|(id, name, input, status, content)| Called {
            id,
            name,
            input,
            status,
            content,
        })
}

fn answer() -> impl Strategy<Value = Answer> {
    let thinking = select(
        &[
            None,
            Some(Thought::Whole),
            Some(Thought::Cut),
            Some(Thought::Twice),
        ][..],
    );
    (
        0..Home::SPEAKERS,
        thinking,
        any::<bool>(),
        proptest::collection::vec(text(), 0..3),
        proptest::collection::vec(called(), 0..3),
        any::<bool>(),
        proptest::option::weighted(0.2, text()),
    )
        .prop_map(
            |(speaker, thinking, opaque, texts, calls, is_cut, steering)| Answer {
                speaker,
                thinking,
                opaque,
                texts,
                calls,
                is_cut,
                steering,
            },
        )
}

fn round() -> impl Strategy<Value = Round> {
    (
        proptest::option::weighted(0.2, text()),
        proptest::collection::vec(proptest::collection::vec(said(), 0..3), 1..3),
        proptest::collection::vec(answer(), 0..4),
    )
        .prop_map(|(system, users, answers)| Round {
            system,
            users,
            answers,
        })
}

/// Any case.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let choice = prop_oneof![
        3 => Just(ToolChoice::Auto),
        1 => Just(ToolChoice::None),
        1 => Just(ToolChoice::Required),
        2 => select(NAMES).prop_map(|name| ToolChoice::Named(name.to_owned())),
    ];
    let controls = [
        None,
        Some(ReasoningControl::Effort),
        Some(ReasoningControl::Budget),
        Some(ReasoningControl::None),
    ];
    let forced = [ForcedTool::Yes, ForcedTool::WithoutThinking, ForcedTool::No];
    let all = Attachments::ALL;
    let taken = [
        all,
        all,
        Attachments {
            documents: false,
            ..all
        },
        Attachments::NONE,
    ];
    let sizes = [
        None,
        Some(1),
        Some(1_000),
        Some(1_366),
        Some(2_000),
        Some(32_000),
    ];
    let conversation = (
        proptest::collection::vec(round(), 1..4),
        proptest::option::weighted(0.2, text()),
        proptest::option::of(text()),
    );
    let asked = (
        proptest::sample::subsequence((0..declarations().len()).collect::<Vec<_>>(), 0..5),
        choice,
        proptest::option::of(select(LABELS)),
        proptest::sample::select(controls.to_vec()),
        proptest::sample::select(forced.to_vec()),
        proptest::sample::select(taken.to_vec()),
        proptest::sample::select(sizes.to_vec()),
        proptest::bool::weighted(0.1),
    );
    (conversation, asked).prop_map(|((rounds, summary, prompt), asked)| {
        let (tools, choice, label, control, forced_tool, attachments, max_output, compaction) =
            asked;
        Case {
            rounds,
            summary,
            prompt,
            tools,
            choice,
            label,
            control,
            forced_tool,
            attachments,
            max_output,
            compaction,
        }
    })
}

impl Case {
    /// The request of the model that is at home at `home`.
    pub(crate) fn request(&self, home: Home) -> Request {
        let mut built = Built {
            log: Log::default(),
            home,
            items: 0,
            ids: HashSet::new(),
        };
        if let Some(text) = &self.summary {
            let text = text.clone();
            built.log.say(Role::User, vec![Block::Summary { text }]);
        }
        for round in &self.rounds {
            built.round(round);
        }
        let last = built.log.conversation.messages().iter().rev();
        let mut spoken = last.filter(|message| message.role != Role::System);
        if spoken
            .next()
            .is_none_or(|last| last.role == Role::Assistant)
        {
            built.log.say(Role::User, vec![Block::text("Go on.")]);
        }
        let all = declarations();
        let tools = self.tools.iter().map(|&at| all[at].clone()).collect();
        Request {
            model: Arc::new(self.model(home)),
            purpose: match self.compaction {
                true => Purpose::Compaction,
                false => Purpose::Turn,
            },
            context: "a context".into(),
            label: None,
            system_prompt: self.prompt.as_deref().map(Arc::from),
            conversation: built.log.conversation,
            tools: ToolSet::new(tools).unwrap(),
            tool_choice: self.choice.clone(),
        }
    }

    fn model(&self, home: Home) -> Model {
        let mut model = super::conversation::model("p", home.model, home.base_url);
        model.reasoning = self.label.map(Into::into);
        model.reasoning_control = self.control;
        model.forced_tool = self.forced_tool;
        model.attachments = self.attachments;
        model.max_output = self.max_output;
        model
    }
}

struct Built {
    log: Log,
    home: Home,
    /// How many items of providers there are.
    items: usize,
    ids: HashSet<String>,
}

impl Built {
    fn round(&mut self, round: &Round) {
        if let Some(text) = &round.system {
            self.log.say(Role::System, vec![Block::text(text)]);
        }
        for user in &round.users {
            let blocks = user.iter().map(|said| match said {
                Said::Text(text) => Block::text(text),
                Said::File(file) => Block::Attachment(file.clone()),
            });
            self.log.say(Role::User, blocks.collect());
        }
        for answer in &round.answers {
            let is_last = answer.calls.is_empty();
            self.answer(answer);
            if is_last {
                return;
            }
        }
    }

    fn answer(&mut self, answer: &Answer) {
        let speaker = self.home.speaker(answer.speaker);
        let calls: Vec<(String, &Called)> = answer
            .calls
            .iter()
            .map(|called| (self.id(called.id, &speaker), called))
            .collect();
        let blocks = self.blocks(answer, &calls, &speaker);
        let stop = match (answer.is_cut, calls.is_empty()) {
            (_, false) => StopReason::ToolCalls,
            (true, true) => StopReason::Cancelled,
            (false, true) => StopReason::End,
        };
        self.log.answer(&native(&speaker), blocks, stop);
        if calls.is_empty() {
            return;
        }
        let results = calls.iter().map(|(id, called)| {
            let content = called.content.iter().map(|said| match said {
                Said::Text(text) => ToolContent::Text(text.clone()),
                Said::File(file) => ToolContent::Attachment(file.clone()),
            });
            result(id, called.status, content.collect())
        });
        self.log.results(results.collect());
        if let Some(text) = &answer.steering {
            self.log.say(Role::User, vec![Block::text(text)]);
        }
    }

    /// A unique id; a provider's own are as it gives them.
    fn id(&mut self, wanted: &str, speaker: &Speaker) -> String {
        let number = self.ids.len();
        let mut id = match speaker.is_foreign {
            true => wanted.to_owned(),
            false => format!("call_{number}"),
        };
        while !self.ids.insert(id.clone()) {
            id.push_str(&format!(".{number}"));
        }
        id
    }

    fn blocks(
        &mut self,
        answer: &Answer,
        calls: &[(String, &Called)],
        speaker: &Speaker,
    ) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut led = None;
        let thoughts = match answer.thinking {
            None => 0,
            Some(Thought::Twice) => 2,
            Some(_) => 1,
        };
        for nth in 0..thoughts {
            self.items += 1;
            if nth > 0 {
                blocks.push(speaker.text(self.items, led, " "));
                self.items += 1;
            }
            // Only the last block of an answer can be cut.
            let is_cut = answer.thinking == Some(Thought::Cut);
            blocks.push(speaker.thinking(self.items, is_cut));
            led = Some(self.items).filter(|_| !is_cut);
            if is_cut && answer.calls.is_empty() {
                return blocks;
            }
        }
        if answer.opaque {
            self.items += 1;
            blocks.extend(speaker.opaque(self.items));
        }
        for (nth, text) in answer.texts.iter().enumerate() {
            self.items += 1;
            let is_partial = answer.is_cut && nth + 1 == answer.texts.len();
            blocks.push(match is_partial && calls.is_empty() {
                true => Block::text(text),
                false => speaker.text(self.items, led, text),
            });
        }
        for (id, called) in calls {
            self.items += 1;
            let call = call(id, called.name, called.input);
            blocks.push(Block::ToolCall(speaker.call(self.items, led, call)));
        }
        blocks
    }
}

/// An origin as the log wants it.
fn native(speaker: &Speaker) -> Native {
    Native {
        origin: origin(speaker.style, speaker.base_url, speaker.model),
        ids: ["", "", ""],
        signature: None,
        thinking: None,
        text: None,
        call: None,
        opaque: None,
    }
}
