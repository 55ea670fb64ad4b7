//! What a store in Lua may give, and what it should not.

use pantograph::session::{LoadOptions, SessionError};
use pantograph::{MessageId, StopReason, TurnError};
use pantograph_scripted::{Script, Step};

use super::{saying, store_of, with_store};
use crate::support::Machine;

/// What comes of a turn of a new agent whose store has another method `append` or `create`.
async fn turn(machine: &mut Machine, method: &str, body: &str) -> String {
    let source = format!(
        r#"
        local store = new_store()
        function store:{method}(id, records) {body} end
        local agent = new_agent {{ store = store }}
        local settled = finish(agent:run("x"))
        return settled.error or "fine"
        "#
    );
    machine.drive(&source).await
}

/// What the store whose method is another one says to a question.
async fn asked(machine: &mut Machine, method: &str, arguments: &str, body: &str) -> String {
    machine.exec(&format!(
        "custom = new_store() function custom:{method}({arguments}) {body} end"
    ));
    let store = store_of(machine, "custom");
    let id = "0198c0de-0000-7000-8000-000000000001".to_owned();
    let id = pantograph::SessionId::parse(&id).unwrap();
    let answer = async {
        match method {
            "load" => store
                .load(id)
                .await
                .map(|tree| format!("{:?}", tree.head())),
            "load_messages" => {
                let messages = store.load_messages(id, &LoadOptions::default()).await;
                messages.map(|messages| messages.len().to_string())
            }
            "list" => store.list().await.map(|list| list.len().to_string()),
            "list_bounded" => store
                .list_bounded(2)
                .await
                .map(|list| list.len().to_string()),
            "resolve" => store.resolve("01").await.map(|id| id.to_string()),
            _ => store.latest().await.map(|id| format!("{id:?}")),
        }
    };
    let answer = machine.runtime.run_until(answer).await;
    answer.unwrap_or_else(|error| error.to_string())
}

const BODIES: [&str; 9] = [
    "",
    "return true",
    "return io.stdout",
    "return nil",
    "return false",
    "return nil, 'the disk is full'",
    "return false, {}",
    "error('oh')",
    "error({ code = 7 })",
];

#[tokio::test(start_paused = true)]
async fn what_create_and_append_give_decides_the_turn() {
    let mut machine = saying("Hi.");
    let mut lines = Vec::new();
    for body in BODIES {
        for method in ["append", "create"] {
            // A session that was not created has no place for records.
            let body = match method {
                "create" => format!("self.lines[id.id] = {{}} {body}"),
                _ => body.to_owned(),
            };
            let said = turn(&mut machine, method, &body).await;
            if method == "append" {
                lines.push(format!("{body}: {said}"));
            } else {
                let line = lines.last().unwrap();
                let of_append = line.split_once(": ").unwrap().1.to_owned();
                assert_eq!(
                    said.replace("create", "append").replace("test:3", "x"),
                    of_append.replace("test:3", "x")
                );
            }
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    : fine
    return true: fine
    return io.stdout: fine
    return nil: could not store the conversation: the session store failed: its `append` gave nil without a message
    return false: could not store the conversation: the session store failed: its `append` gave nil without a message
    return nil, 'the disk is full': could not store the conversation: the session store failed: its `append` failed: the disk is full
    return false, {}: could not store the conversation: the session store failed: its `append` gave nil, and a table where a message belongs
    error('oh'): could not store the conversation: the session store failed: its `append` raised an error: test:3: oh
    error({ code = 7 }): could not store the conversation: the session store failed: its `append` raised an error: (error object is a table value)
    ");
}

#[tokio::test(start_paused = true)]
async fn what_the_others_give_is_read_or_told() {
    let mut machine = saying("Hi.");
    let header =
        "{ type = 'session', version = 1, id = id, created = '2027-01-01T00:00:00Z', cwd = '/' }";
    let cases = [
        ("load", ""),
        ("load", "return nil"),
        ("load", "return nil, 'locked'"),
        ("load", "return 5"),
        ("load", "return {}"),
        ("load", "return { header = 'x' }"),
        ("load", "return { header = { id = id } }"),
        ("load", "return { header = { id = id }, records = {} }"),
        ("load", "return { header = {}, records = {} }"),
        ("load", "return { header = { print } }"),
        ("load", "return { header = HEADER }"),
        ("load", "return { header = HEADER, records = {} }"),
        (
            "load",
            "local h = HEADER h.version = 2 return { header = h, records = {} }",
        ),
        (
            "load",
            "local h = HEADER h.id = '0198c0de-0000-7000-8000-00000000000f' return { header = h, records = {} }",
        ),
        ("load", "return { header = HEADER, records = { a = 1 } }"),
        (
            "load",
            "return { header = HEADER, records = { {}, nil, {} } }",
        ),
        (
            "load",
            "return { header = HEADER, records = { { type = 'message' } } }",
        ),
        ("load", "return { header = HEADER, records = { 'x' } }"),
        (
            "load",
            "return { header = HEADER, records = { { type = 'later' }, { type = 'message', id = 'm', role = 'user', blocks = json.array() } } }",
        ),
        (
            "load",
            "return { header = HEADER, records = { { x = 0/0 } } }",
        ),
        ("load", "error('oh')"),
        ("load_messages", "return nil"),
        (
            "load_messages",
            "return { { type = 'head', target = json.null } }",
        ),
        ("load_messages", "return { { type = 'message' } }"),
        ("load_messages", "return {}"),
        ("list", ""),
        ("list", "return {}"),
        ("list", "return { 1 }"),
        ("list", "return { {} }"),
        ("list", "return { { id = 'x' } }"),
        (
            "list",
            "return { { id = '0198c0de-0000-7000-8000-000000000001', created = 'noon' } }",
        ),
        (
            "list",
            "return { { id = '0198c0de-0000-7000-8000-000000000001', message_count = 1.5 } }",
        ),
        (
            "list",
            "return { { id = '0198c0de-0000-7000-8000-000000000001' } }",
        ),
        ("list", "return nil, 'locked'"),
        ("list_bounded", "return 1"),
        ("list_bounded", "return {}"),
        ("resolve", ""),
        ("resolve", "return 1"),
        ("resolve", "return 'x'"),
        ("resolve", "return nil, 'several have that'"),
        ("latest", ""),
        ("latest", "return 'x'"),
        ("latest", "return {}"),
        ("latest", "return nil, 'locked'"),
        ("latest", "return '0198c0de-0000-7000-8000-000000000001'"),
    ];
    let mut lines = Vec::new();
    for (method, body) in cases {
        let body = body.replace("HEADER", header);
        let said = asked(&mut machine, method, "id", &body).await;
        let body = body.replace(header, "HEADER");
        lines.push(format!("{method}: {body}\n    {said}"));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    load: 
        no session `0198c0de-0000-7000-8000-000000000001`
    load: return nil
        no session `0198c0de-0000-7000-8000-000000000001`
    load: return nil, 'locked'
        the session store failed: its `load` failed: locked
    load: return 5
        the session store failed: its `load` gave a number, not a table
    load: return {}
        the session store failed: its `load` gave nil as `header`, not a table
    load: return { header = 'x' }
        the session store failed: its `load` gave a string as `header`, not a table
    load: return { header = { id = id } }
        the session store failed: its `load` gave nil as `records`, not a list
    load: return { header = { id = id }, records = {} }
        the session store failed: its `load` gave a `header` that cannot be read: missing field `type`
    load: return { header = {}, records = {} }
        the session store failed: its `load` gave a `header` that cannot be read: missing field `id`
    load: return { header = { print } }
        the session store failed: its `load` gave `header` that is not JSON: [1] is a function, which JSON cannot say
    load: return { header = HEADER }
        the session store failed: its `load` gave nil as `records`, not a list
    load: return { header = HEADER, records = {} }
        None
    load: local h = HEADER h.version = 2 return { header = h, records = {} }
        the session store failed: its `load` gave a `header` that cannot be read: the format version is 2, and only versions up to 1 are known here
    load: local h = HEADER h.id = '0198c0de-0000-7000-8000-00000000000f' return { header = h, records = {} }
        the session store failed: its `load` gave the session `0198c0de-0000-7000-8000-00000000000f`, not `0198c0de-0000-7000-8000-000000000001`
    load: return { header = HEADER, records = { a = 1 } }
        the session store failed: its `load` gave a list with other keys than positions as `records`
    load: return { header = HEADER, records = { {}, nil, {} } }
        the session store failed: its `load` gave a list with holes as `records`
    load: return { header = HEADER, records = { { type = 'message' } } }
        the session store failed: its `load` gave a `records[1]` that cannot be read: missing field `role`
    load: return { header = HEADER, records = { 'x' } }
        the session store failed: its `load` gave a string as `records[1]`, not a table
    load: return { header = HEADER, records = { { type = 'later' }, { type = 'message', id = 'm', role = 'user', blocks = json.array() } } }
        Some("m")
    load: return { header = HEADER, records = { { x = 0/0 } } }
        the session store failed: its `load` gave `records[1]` that is not JSON: x is NaN, which JSON cannot say
    load: error('oh')
        the session store failed: its `load` raised an error: test:1: oh
    load_messages: return nil
        no session `0198c0de-0000-7000-8000-000000000001`
    load_messages: return { { type = 'head', target = json.null } }
        the session store failed: its `load_messages` gave `[1]` that is no record of a message
    load_messages: return { { type = 'message' } }
        the session store failed: its `load_messages` gave `[1]` that cannot be read: missing field `role`
    load_messages: return {}
        0
    list: 
        the session store failed: its `list` gave nil, not a list
    list: return {}
        0
    list: return { 1 }
        the session store failed: its `list` gave a number as `[1]`, not a table
    list: return { {} }
        the session store failed: its `list` gave `[1]` that cannot be read: missing field `id`
    list: return { { id = 'x' } }
        the session store failed: its `list` gave `[1]` that cannot be read: `x` is not a session id: expected a UUID in lower-case, hyphenated form
    list: return { { id = '0198c0de-0000-7000-8000-000000000001', created = 'noon' } }
        the session store failed: its `list` gave `[1]` that cannot be read: `created`: `noon` is not a time (RFC 3339)
    list: return { { id = '0198c0de-0000-7000-8000-000000000001', message_count = 1.5 } }
        the session store failed: its `list` gave `[1]` that cannot be read: `message_count` is not a count
    list: return { { id = '0198c0de-0000-7000-8000-000000000001' } }
        1
    list: return nil, 'locked'
        the session store failed: its `list` failed: locked
    list_bounded: return 1
        the session store failed: its `list_bounded` gave a number, not a list
    list_bounded: return {}
        0
    resolve: 
        no session `01`
    resolve: return 1
        the session store failed: its `resolve` gave a number, not the id of a session
    resolve: return 'x'
        the session store failed: its `resolve` gave no id: `x` is not a session id: expected a UUID in lower-case, hyphenated form
    resolve: return nil, 'several have that'
        the session store failed: its `resolve` failed: several have that
    latest: 
        None
    latest: return 'x'
        the session store failed: its `latest` gave no id: `x` is not a session id: expected a UUID in lower-case, hyphenated form
    latest: return {}
        the session store failed: its `latest` gave a table, not the id of a session
    latest: return nil, 'locked'
        the session store failed: its `latest` failed: locked
    latest: return '0198c0de-0000-7000-8000-000000000001'
        Some(0198c0de-0000-7000-8000-000000000001)
    "#);
}

#[tokio::test(start_paused = true)]
async fn no_method_may_wait() {
    let mut machine = saying("Hi.");
    let mut lines = Vec::new();
    for body in ["coroutine.yield()", "pcall(sleep, 1) return {}"] {
        for method in ["append", "create"] {
            lines.push(turn(&mut machine, method, body).await);
        }
        for method in [
            "load",
            "load_messages",
            "list",
            "list_bounded",
            "resolve",
            "latest",
        ] {
            lines.push(asked(&mut machine, method, "", body).await);
        }
    }
    let (first, second) = lines.split_at(lines.len() / 2);
    assert_eq!(first, second, "also if the error is caught");
    insta::assert_snapshot!(first.join("\n"), @"
    could not store the conversation: the session store failed: its `append` yielded, but this entrypoint must not await; its caller needs the result now
    could not store the conversation: the session store failed: its `create` yielded, but this entrypoint must not await; its caller needs the result now
    the session store failed: its `load` yielded, but this entrypoint must not await; its caller needs the result now
    the session store failed: its `load_messages` yielded, but this entrypoint must not await; its caller needs the result now
    the session store failed: its `list` yielded, but this entrypoint must not await; its caller needs the result now
    the session store failed: its `list_bounded` yielded, but this entrypoint must not await; its caller needs the result now
    the session store failed: its `resolve` yielded, but this entrypoint must not await; its caller needs the result now
    the session store failed: its `latest` yielded, but this entrypoint must not await; its caller needs the result now
    ");
}

#[tokio::test(start_paused = true)]
async fn what_a_store_raises_is_told_to_its_author() {
    let mut machine = saying("Hi.");
    turn(&mut machine, "append", "error('oh')").await;
    let failures = machine.failures.borrow();
    assert_eq!(
        failures[0].to_string(),
        "`append` of a session store failed: test:3: oh"
    );
    assert!(
        failures[0].traceback.contains("test:3"),
        "{}",
        failures[0].traceback
    );
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_appended_goes_with_the_next() {
    let script = Script::new().step(Step::text("Answer.").repeated());
    let mut machine = with_store(script);
    machine
        .drive::<()>(
            r#"
            local append, create = store.append, store.create
            local broken = true
            function store:create(header)
              create(self, header)
            end
            function store:append(id, records)
              if broken then
                error("the disk is full", 0)
              end
              return append(self, id, records)
            end
            agent = new_agent()
            for _ = 1, 2 do
              local settled = finish(agent:run("x"))
              assert(settled.error == "could not store the conversation: the session store failed: its `append` raised an error: the disk is full", settled.error)
              assert(settled.error_kind == "session" and settled.stop == "failed")
            end
            broken = false
            assert(finish(agent:run("y")).stop == "end")
            local kept = agent:conversation():messages()
            local id = agent:session_id()
            agent:close()
            local again = new_agent { session_id = id }
            assert(same(again:conversation():messages(), kept))
            "#,
        )
        .await;
    insta::assert_snapshot!(machine.log().join("\n"), @"
    create session /project
    append user assistant user user
    append assistant
    ");
}

#[tokio::test(start_paused = true)]
async fn a_part_that_was_kept_does_no_harm_when_it_comes_again() {
    let mut machine = saying("Answer.");
    machine
        .drive::<()>(
            r#"
            local append = store.append
            local kept = 0
            function store:append(id, records)
              kept = kept + 2
              append(self, id, table.move(records, 1, math.min(kept, #records), 1, {}))
              if kept < #records then
                error("the disk is full")
              end
            end
            agent = new_agent()
            assert(agent:add_system_message("Be brief."))
            for _ = 1, 3 do
              finish(agent:run("x"))
            end
            assert(agent:set_message_metadata(2, { a = 1 }))
            local expected, id = agent:conversation():messages(), agent:session_id()
            assert(#store:load(id).records > #expected + 1, "some came twice")
            agent:close()
            local again = new_agent { session_id = id }
            assert(same(again:conversation():messages(), expected))
            "#,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_append_is_an_error_of_the_session() {
    let mut machine = saying("Hi.");
    machine.exec("function store:append() return nil, 'no' end");
    let store = store_of(&machine, "store");
    let agent = pantograph::Agent::builder(
        std::sync::Arc::new(pantograph_scripted::ScriptedProtocol::new(
            Script::new().step("Hi."),
        )),
        crate::support::model(),
    );
    let agent = machine.runtime.run_until(agent.create(&*store, "/")).await;
    let agent = agent.unwrap();
    let outcome = machine.ask(&agent).await;
    assert_eq!(outcome.stop, StopReason::Failed);
    let Some(TurnError::Session(error)) = &outcome.error else {
        panic!("{:?}", outcome.error);
    };
    assert!(matches!(&**error, SessionError::Store(text) if text == "its `append` failed: no"));
}

#[tokio::test(start_paused = true)]
async fn what_lua_could_never_be_given_is_refused_and_nothing_waits_for_it() {
    let mut machine = saying("Hi.");
    let store = store_of(&machine, "store");
    let id = pantograph::SessionId::parse("0198c0de-0000-7000-8000-000000000001").unwrap();
    let header = pantograph::session::Header {
        id,
        created: "2027-01-15T08:00:00Z".parse().unwrap(),
        cwd: "/".into(),
        metadata: pantograph::Metadata::new(),
    };
    let record = |id: &str, text: String| {
        pantograph::session::Record::Message(pantograph::Message {
            id: MessageId::new(id),
            parent: None,
            at: "2027-01-15T08:00:00Z".parse().unwrap(),
            role: pantograph::Role::Assistant,
            blocks: vec![pantograph::Block::text(text)],
            metadata: pantograph::Metadata::new(),
            origin: None,
            usage: None,
            stop: None,
        })
    };
    let work = async {
        let mut session = store.create(header).await.unwrap();
        let huge = record("huge", "x".repeat(65 * 1024 * 1024));
        let refused = session.append(vec![huge]).await.unwrap_err();
        session
            .append(vec![record("small", "y".into())])
            .await
            .unwrap();
        refused
    };
    let refused = machine.runtime.run_until(work).await;
    assert!(matches!(refused, SessionError::Refused { .. }));
    insta::assert_snapshot!(refused, @"the session store refuses this: 68157582 bytes of JSON are more than the 67108864 that a store in Lua is given at once");
    assert_eq!(machine.log(), ["create session /", "append assistant"]);
}
