//! A store in Lua keeps what a store of files keeps.

use pantograph::session::{
    FileSystemJsonlStore, Header, LoadOptions, Record, SessionStore, SessionTree,
};
use pantograph::{Block, Message, MessageId, Metadata, Role, SessionId};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{saying, store_of};
use crate::any::{any_record, metadata};
use crate::support::Machine;

fn id(n: u32) -> SessionId {
    SessionId::parse(&format!("0198c0de-0000-7000-8000-{n:012x}")).unwrap()
}

fn header(n: u32, metadata: Metadata) -> Header {
    Header {
        id: id(n),
        created: "2027-01-15T08:00:00.000000001Z".parse().unwrap(),
        cwd: "/home/ann".into(),
        metadata,
    }
}

fn message(id: &str, parent: Option<&str>, role: Role) -> Record {
    Record::Message(Message {
        id: MessageId::new(id),
        parent: parent.map(MessageId::new),
        at: "2027-01-15T08:00:01Z".parse().unwrap(),
        role,
        blocks: vec![Block::text(id)],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    })
}

/// Whatever a store does while Lua is driven.
async fn on<T>(machine: &mut Machine, work: impl Future<Output = T>) -> T {
    machine.runtime.run_until(work).await
}

/// Writes a session in two appends, and reads it.
async fn written(
    machine: &mut Machine,
    store: &dyn SessionStore,
    header: Header,
    records: &[Record],
    split: usize,
) -> SessionTree {
    let id = header.id;
    let (first, second) = records.split_at(split.min(records.len()));
    on(machine, async {
        let mut session = store.create(header).await.unwrap();
        session.append(first.to_vec()).await.unwrap();
        session.append(second.to_vec()).await.unwrap();
        drop(session);
        let opened = store.open(id).await.unwrap();
        let loaded = store.load(id).await.unwrap();
        assert_eq!(opened.session.id(), id);
        assert!(opened.tree.messages().eq(loaded.messages()));
        loaded
    })
    .await
}

fn options() -> Vec<LoadOptions> {
    let all = LoadOptions::default();
    let with_role = LoadOptions {
        role: Some(Role::User),
        limit: Some(2),
        ..all.clone()
    };
    let one_byte = LoadOptions {
        max_bytes: Some(1),
        ..all.clone()
    };
    let all = [all, with_role, one_byte];
    let from_end = all.clone().map(|options| LoadOptions {
        from_end: true,
        ..options
    });
    all.into_iter().chain(from_end).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_through_json_in_lua_comes_back(
        metadata in metadata(),
        records in vec(any_record(), 1..10),
        split in 0_usize..10,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut machine = saying("Hi.");
            let mut records = records;
            records.push(message("z", None, Role::Assistant));
            let header = header(1, metadata);
            let mut expected = SessionTree::new(header.clone());
            for record in &records {
                expected.apply(record.clone());
            }
            let directory = tempfile::tempdir().unwrap();
            let files = FileSystemJsonlStore::new(directory.path());
            let lua = store_of(&machine, "store");
            let of_files = written(&mut machine, &files, header.clone(), &records, split).await;
            let of_lua = written(&mut machine, &*lua, header, &records, split).await;
            for tree in [&of_files, &of_lua] {
                prop_assert_eq!(tree.header(), expected.header());
                prop_assert_eq!(tree.head(), expected.head());
                prop_assert!(tree.messages().eq(expected.messages()));
                let (shown, wanted) = (tree.conversation(), expected.conversation());
                prop_assert_eq!(shown.messages(), wanted.messages());
            }
            // What Lua wrote is a session's file, too.
            let lines: String = machine.eval("return table.concat(store.lines[store:latest()], '\\n') .. '\\n'");
            std::fs::write(files.path(id(1)), lines).unwrap();
            let of_lines = files.load(id(1)).await.unwrap();
            prop_assert_eq!(of_lines.header(), expected.header());
            prop_assert!(of_lines.messages().eq(expected.messages()));
            for options in options() {
                let given = on(&mut machine, lua.load_messages(id(1), &options)).await.unwrap();
                prop_assert_eq!(given, files.load_messages(id(1), &options).await.unwrap());
            }
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_are_found_as_in_files() {
    let mut machine = saying("Hi.");
    let directory = tempfile::tempdir().unwrap();
    let files = FileSystemJsonlStore::new(directory.path());
    let lua = store_of(&machine, "store");
    let records = [
        message("u", None, Role::User),
        message("a", Some("u"), Role::Assistant),
    ];
    for n in [1, 2] {
        for store in [&files as &dyn SessionStore, &*lua] {
            written(&mut machine, store, header(n, Metadata::new()), &records, 1).await;
        }
    }
    for store in [&files as &dyn SessionStore, &*lua] {
        on(&mut machine, async {
            let ids = |infos: Vec<pantograph::session::SessionInfo>| {
                infos.into_iter().map(|info| info.id).collect::<Vec<_>>()
            };
            assert_eq!(ids(store.list().await.unwrap()), [id(2), id(1)]);
            assert_eq!(ids(store.list_bounded(1).await.unwrap()), [id(2)]);
            assert_eq!(store.latest().await.unwrap(), Some(id(2)));
            let wanted = id(1).to_string();
            assert_eq!(store.resolve(&wanted).await.unwrap(), id(1));
            let error = store.resolve("ff").await.unwrap_err().to_string();
            assert!(error.starts_with("no session `ff`"), "{error}");
            let error = store.load(id(3)).await.err().unwrap().to_string();
            assert!(error.starts_with("no session `0198"), "{error}");
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_may_describe_and_choose_by_itself() {
    let mut machine = saying("Hi.");
    machine.exec(
        r#"
        local a, b = "0198c0de-0000-7000-8000-00000000000a", "0198c0de-0000-7000-8000-00000000000b"
        function store:list()
          return {
            { id = a, modified = "2027-01-01T00:00:00Z", created = "2026-01-01T00:00:00Z", message_count = 2,
              metadata = { x = 1 }, last_user_message = "u", api_style = "s", base_url = "b", model = "m", reasoning = "r" },
            { id = b, modified = "2027-01-02T00:00:00Z", model = json.null },
          }
        end
        function store:list_bounded(limit)
          note("bounded " .. limit)
          return { { id = a }, { id = b } }
        end
        function store:load_messages(id, options)
          note("messages " .. json.encode(options))
          return { { type = "message", id = "x", role = "user", blocks = { { type = "text", text = "chosen" } } } }
        end
        "#,
    );
    let store = store_of(&machine, "store");
    let infos = on(&mut machine, store.list()).await.unwrap();
    insta::assert_debug_snapshot!(infos, @r#"
    [
        SessionInfo {
            id: 0198c0de-0000-7000-8000-00000000000b,
            created: 2025-08-19T05:47:11.232Z,
            modified: 2027-01-02T00:00:00Z,
            metadata: None,
            message_count: 0,
            last_user_message: None,
            api_style: None,
            base_url: None,
            model: None,
            reasoning: None,
        },
        SessionInfo {
            id: 0198c0de-0000-7000-8000-00000000000a,
            created: 2026-01-01T00:00:00Z,
            modified: 2027-01-01T00:00:00Z,
            metadata: Some(
                {
                    "x": Number(1),
                },
            ),
            message_count: 2,
            last_user_message: Some(
                "u",
            ),
            api_style: Some(
                "s",
            ),
            base_url: Some(
                "b",
            ),
            model: Some(
                "m",
            ),
            reasoning: Some(
                "r",
            ),
        },
    ]
    "#);
    let infos = on(&mut machine, store.list_bounded(1)).await.unwrap();
    assert_eq!(
        infos.len(),
        1,
        "the order is the store's, but not the number"
    );
    let options = LoadOptions {
        limit: Some(3),
        max_bytes: Some(10),
        from_end: true,
        role: Some(Role::User),
        metadata_key: Some("k".into()),
    };
    let messages = on(&mut machine, store.load_messages(id(1), &options));
    let messages = messages.await.unwrap();
    assert_eq!(messages[0].text(), "chosen");
    insta::assert_snapshot!(machine.log().join("\n"), @r#"
    bounded 1
    messages {"from_end":true,"limit":3,"max_bytes":10,"metadata_key":"k","role":"user"}
    "#);
}

#[tokio::test(start_paused = true)]
async fn metadata_as_deep_as_it_may_be_goes_through_lua() {
    let mut machine = saying("Hi.");
    let store = store_of(&machine, "store");
    let deep = |levels: u32| {
        let value = (0..levels).fold(serde_json::json!(1), |deep, _| serde_json::json!([deep]));
        Metadata::from_iter([("deep".to_owned(), value)])
    };
    let records = [message("a", None, Role::Assistant)];
    let tree = written(&mut machine, &*store, header(1, deep(100)), &records, 0).await;
    assert_eq!(tree.header().metadata, deep(100));
    let refused = store.create(header(2, deep(101))).await.err().unwrap();
    assert!(refused.to_string().contains("nested deeper"), "{refused}");
}
