//! Any record that a session can hold. The tests of other stores use it, too.

use std::sync::Arc;

use pantograph::session::{Compaction, Record};
use pantograph::{
    Attachment, Block, Message, MessageId, Metadata, Origin, RawJson, Role, StopReason, ToolCall,
    ToolContent, ToolResult, ToolStatus, Usage,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn ids() -> impl Strategy<Value = MessageId> {
    "[a-h]".prop_map(MessageId::new)
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<i32>().prop_map(|n| (f64::from(n) / 8.0).into()),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            vec((".{0,4}", inner), 0..4)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

pub(crate) fn metadata() -> impl Strategy<Value = Metadata> {
    vec((".{0,6}", json()), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn raw() -> impl Strategy<Value = Option<RawJson>> {
    option::of(json().prop_map(|value| RawJson::from_value(&value)))
}

fn text_strategy() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\u{0}\n\r\"\\\\\u{2028}😀]{0,6}"]
}

fn attachment() -> impl Strategy<Value = Attachment> {
    ("[a-z/]{1,9}", vec(any::<u8>(), 0..20)).prop_map(|(kind, data)| Attachment::new(kind, data))
}

fn block() -> impl Strategy<Value = Block> {
    let part = prop_oneof![
        text_strategy().prop_map(ToolContent::Text),
        attachment().prop_map(ToolContent::Attachment),
    ];
    let status = prop_oneof![
        Just(ToolStatus::Ok),
        Just(ToolStatus::Error),
        Just(ToolStatus::Cancelled)
    ];
    prop_oneof![
        (text_strategy(), raw()).prop_map(|(text, raw)| Block::Text { text, raw }),
        (text_strategy(), option::of(text_strategy()), raw()).prop_map(|(text, signature, raw)| {
            Block::Thinking {
                text,
                signature,
                raw,
            }
        }),
        (text_strategy(), text_strategy(), text_strategy(), raw()).prop_map(
            |(id, name, input, raw)| {
                Block::ToolCall(ToolCall {
                    id: id.into(),
                    name: name.into(),
                    input,
                    raw,
                })
            }
        ),
        (text_strategy(), status, vec(part, 0..3)).prop_map(|(call, status, content)| {
            Block::ToolResult(ToolResult {
                call: call.into(),
                status,
                content,
            })
        }),
        attachment().prop_map(Block::Attachment),
        json().prop_map(|value| Block::Opaque {
            raw: RawJson::from_value(&value)
        }),
        text_strategy().prop_map(|text| Block::Summary { text }),
    ]
}

fn at() -> impl Strategy<Value = jiff::Timestamp> {
    (-1_000_000_i64..4_000_000_000, 0..1_000_000_000)
        .prop_map(|(seconds, nanos)| jiff::Timestamp::new(seconds.max(0), nanos).unwrap())
}

fn any_message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![
        Just(Role::System),
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::Tool)
    ];
    let stop = prop_oneof![
        Just(StopReason::End),
        Just(StopReason::ToolCalls),
        Just(StopReason::Limit),
        Just(StopReason::Cancelled),
        Just(StopReason::Failed)
    ];
    let origin = (
        text_strategy(),
        option::of(text_strategy()),
        text_strategy(),
    )
        .prop_map(|(style, base_url, model)| {
            Arc::new(Origin {
                style,
                base_url: base_url.clone(),
                reference: model.clone(),
                model,
                reasoning: base_url,
            })
        });
    let usage =
        (option::of(any::<u64>()), option::of(any::<u64>())).prop_map(|(input, output)| Usage {
            input,
            output,
            ..Usage::default()
        });
    (
        (ids(), option::of(ids()), at(), role),
        vec(block(), 0..4),
        metadata(),
        option::of(origin),
        option::of(usage),
        option::of(stop),
    )
        .prop_map(
            |((id, parent, at, role), blocks, metadata, origin, usage, stop)| Message {
                id,
                parent,
                at,
                role,
                blocks,
                metadata,
                origin,
                usage,
                stop,
            },
        )
}

pub(crate) fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => any_message().prop_map(Record::Message),
        1 => (ids(), metadata(), at()).prop_map(|(target, metadata, at)| Record::Metadata {
            target,
            metadata,
            at
        }),
        1 => (ids(), option::of(ids()), at(), text_strategy(), ids(), any::<u64>()).prop_map(
            |(id, parent, at, summary, first_kept, tokens_before)| {
                Record::Compaction(Compaction {
                    id,
                    parent,
                    at,
                    summary,
                    first_kept,
                    tokens_before,
                })
            }
        ),
        1 => (option::of(ids()), at()).prop_map(|(target, at)| Record::Head { target, at }),
    ]
}
