//! Providers that Lua speaks to: what `open` is told, what `next` may give, and how streams of
//! one protocol stay apart.

use std::sync::Arc;
use std::time::Duration;

use pantograph::{Agent, Model, Outcome, StopReason, with_causes};
use serde_json::json;

use crate::support::{Machine, calling, machine, results};

impl Machine {
    /// An agent that asks a Lua protocol.
    fn asking(&self, protocol: &str) -> Agent {
        let protocol = self.runtime.handle().protocol(protocol).unwrap();
        let mut model = Model::new(pantograph::ModelRef::parse("lua:demo").unwrap());
        model.retry.max_retries = 0;
        Agent::builder(protocol, model)
            .tool_source(self.runtime.tool_source())
            .ephemeral()
    }
}

fn error(outcome: &Outcome) -> String {
    outcome
        .error
        .as_ref()
        .map(|error| with_causes(error))
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_protocol_answers_calls_tools_and_counts() {
    let mut machine = machine();
    machine.protocols();
    machine.tool("echo", "return input.x");
    machine.exec(
        r#"
        register_protocol {
            name = "demo",
            effort_levels = { { label = "quick", detail = "short" }, { label = "deep" } },
            open = function(request)
                note(request.protocol .. " " .. request.provider .. " " .. request.model .. " " .. request.purpose)
                note(request.context .. "" == request.context and "context" or "none")
                note(request.system)
                note(#request.messages .. " " .. request.messages[#request.messages].role)
                note(request.tools[1].name .. " " .. request.tools[1].schema.type .. " " .. request.tool_choice)
                note(request.history_transcript)
                assert(rawget(request, "messages") and request.unknown == nil and request.effort == nil)
                local events = #request.messages == 1 and {
                    { type = "text_delta", text = "Let me " },
                    { type = "text_delta", text = "see." },
                    { type = "tool_call", id = "c1", name = "echo", input_json = '{"x":"hi"}' },
                    { type = "done", usage = { input = 3, output = 4, cache_read = 1, cache_write = 0, reasoning = 2 } },
                } or {
                    { type = "text_delta", text = "Done." },
                    { type = "done", usage = { output = 1.0 } },
                }
                local at = 0
                return {
                    next = function(self) assert(self.close) at = at + 1 return events[at] end,
                    close = function(self) note("close") end,
                    cancel_turn = function() note("not reached") end,
                }
            end,
        }
        "#,
    );
    let agent = machine.asking("demo");
    agent.set_system_prompt(Some("Be brief.".into()));
    machine
        .runtime
        .run_until(agent.add_system_message("Also kind.", Default::default()))
        .await
        .unwrap();
    let outcome = machine.ask(&agent).await;
    assert_eq!(
        outcome.text.as_deref(),
        Some("Done."),
        "{}",
        error(&outcome)
    );
    assert_eq!(results(&agent)[0].1, "hi");
    assert_eq!(outcome.usage.usage.output, Some(5));
    machine.runtime.run_until(tokio::task::yield_now()).await;
    insta::assert_snapshot!(machine.log().join("\n"), @r#"
    demo lua demo turn
    context
    Be brief.

    Also kind.
    1 user
    echo object auto
    [user]
      Go.

    close
    demo lua demo turn
    context
    Be brief.

    Also kind.
    3 tool
    echo object auto
    [user]
      Go.

    [assistant]
      Let me see.

    [tool call c1: echo]
      {"x":"hi"}

    [tool result c1: ok]
      hi

    close
    "#);
    let levels = machine.runtime.handle().effort_levels("demo");
    assert_eq!(levels[0].label, "quick");
    assert_eq!(
        (levels[0].detail.as_deref(), levels.len()),
        (Some("short"), 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_news_waits_until_it_is_notified() {
    let mut machine = machine();
    machine.protocols();
    machine.exec(
        r#"
        calls = 0
        register_protocol {
            name = "slow",
            open = function(request)
                local ready, timer = {}, uv.new_timer()
                local n = 0
                timer:start(100, 100, function()
                    n = n + 1
                    ready[#ready + 1] = n < 5 and { type = "text_delta", text = n .. " " } or { type = "done" }
                    if n == 5 then timer:close() end
                    request.notify()
                end)
                return { next = function() calls = calls + 1 return table.remove(ready, 1) end }
            end,
        }
        -- Says that there is more while `next` is running, and from inside `open`.
        register_protocol {
            name = "sticky",
            open = function(request)
                request.notify()
                local n = 0
                return { next = function()
                    n = n + 1
                    if n % 2 == 1 then request:notify() return nil end
                    return n < 10 and { type = "text_delta", text = n .. " " } or { type = "done" }
                end }
            end,
        }
        "#,
    );
    let agent = machine.asking("slow");
    let outcome = machine.ask(&agent).await;
    assert_eq!(
        outcome.text.as_deref(),
        Some("1 2 3 4 "),
        "{}",
        error(&outcome)
    );
    // Once for each event, and once in between for each that was not there yet.
    assert!(machine.eval::<i64>("return calls") <= 11);
    let agent = machine.asking("sticky");
    let outcome = machine.ask(&agent).await;
    assert_eq!(
        outcome.text.as_deref(),
        Some("2 4 6 8 "),
        "{}",
        error(&outcome)
    );
}

#[tokio::test(start_paused = true)]
async fn whatever_is_wrong_with_a_protocol_ends_its_turn_with_words() {
    let mut machine = machine();
    machine.protocols();
    let opens = [
        "error('no luck')",
        "return",
        "return nil, 'no transport'",
        "return 42",
        "return {}",
        "return { next = 1 }",
        "coroutine.yield()",
        "return { next = function() error({}) end }",
        "return { next = function() return 42 end }",
        "return { next = function() return {} end }",
        "return { next = function() return { type = 'nonsense' } end }",
        "return { next = function() return { type = 'text_delta' } end }",
        "return { next = function() return { type = 'text_delta', text = '\\xff' } end }",
        "return { next = function() return { type = 'tool_call', name = 'x' } end }",
        "return { next = function() return { type = 'done', usage = { input = -1 } } end }",
        "return { next = function() return { type = 'done', usage = 1 } end }",
        "return { next = function() pcall(coroutine.yield) return { type = 'done' } end }",
        "return { next = function() sleep(1) end }",
        "return { next = function() return { type = 'error' } end }",
        "return { next = function() return { type = 'error', kind = 'authentication', message = 'who?' } end }",
        "return { next = function() return { type = 'error', kind = 'strange', message = 'odd' } end }",
        "return setmetatable({}, { __index = { next = print } })",
    ];
    let mut answers = Vec::new();
    for (position, body) in opens.iter().enumerate() {
        machine.exec(&format!(
            "register_protocol {{ name = 'p{position}', open = function(request) {body} end }}"
        ));
        let agent = machine.asking(&format!("p{position}"));
        let outcome = machine.ask(&agent).await;
        assert_eq!(outcome.stop, StopReason::Failed, "{body}");
        let class = outcome.error.as_ref().unwrap().provider().unwrap().class;
        answers.push(format!(
            "{body}\n  => {}: {}",
            class.as_str(),
            error(&outcome)
        ));
    }
    insta::assert_snapshot!(answers.join("\n"), @r"
    error('no luck')
      => terminal: the provider failed: the protocol `p0` failed: test:1: no luck
    return
      => terminal: the provider failed: the protocol `p1` failed: `open` returned nothing; a stream table expected
    return nil, 'no transport'
      => terminal: the provider failed: the protocol `p2` failed: no transport
    return 42
      => terminal: the provider failed: the protocol `p3` failed: `open` returned a number; a stream table expected
    return {}
      => terminal: the provider failed: the protocol `p4` failed: `open` returned a stream without `next`
    return { next = 1 }
      => terminal: the provider failed: the protocol `p5` failed: `open` returned a stream without `next`
    coroutine.yield()
      => terminal: the provider failed: the protocol `p6` failed: yielded, but this entrypoint must not await; its caller needs the result now
    return { next = function() error({}) end }
      => terminal: the provider failed: the protocol `p7` failed: (error object is a table value)
    return { next = function() return 42 end }
      => terminal: the provider failed: the protocol `p8` failed: `next` returned a number; an event table expected
    return { next = function() return {} end }
      => terminal: the provider failed: the protocol `p9` failed: `next` returned an event without `type`
    return { next = function() return { type = 'nonsense' } end }
      => terminal: the provider failed: the protocol `p10` failed: `next` returned an event of the unknown type `nonsense`; expected one of text_delta, tool_call, done, error
    return { next = function() return { type = 'text_delta' } end }
      => terminal: the provider failed: the protocol `p11` failed: `next` returned an event without `text`
    return { next = function() return { type = 'text_delta', text = '\xff' } end }
      => terminal: the provider failed: the protocol `p12` failed: `next` returned an event whose `text` is not UTF-8
    return { next = function() return { type = 'tool_call', name = 'x' } end }
      => terminal: the provider failed: the protocol `p13` failed: `next` returned an event without `input_json`
    return { next = function() return { type = 'done', usage = { input = -1 } } end }
      => terminal: the provider failed: the protocol `p14` failed: `next` returned `usage.input` that is no count
    return { next = function() return { type = 'done', usage = 1 } end }
      => terminal: the provider failed: the protocol `p15` failed: `next` returned a number as `usage`; a table expected
    return { next = function() pcall(coroutine.yield) return { type = 'done' } end }
      => terminal: the provider failed: the protocol `p16` failed: yielded, but this entrypoint must not await; its caller needs the result now
    return { next = function() sleep(1) end }
      => terminal: the provider failed: the protocol `p17` failed: yielded, but this entrypoint must not await; its caller needs the result now
    return { next = function() return { type = 'error' } end }
      => terminal: the provider failed: the provider failed without a message
    return { next = function() return { type = 'error', kind = 'authentication', message = 'who?' } end }
      => authentication: the provider failed: who?
    return { next = function() return { type = 'error', kind = 'strange', message = 'odd' } end }
      => terminal: the provider failed: odd
    return setmetatable({}, { __index = { next = print } })
      => terminal: the provider failed: the protocol `p21` failed: `open` returned a stream without `next`
    ");
}

#[tokio::test(start_paused = true)]
async fn a_protocol_that_never_has_data_runs_into_the_idle_limit_and_is_cancelled() {
    let mut machine = machine();
    machine.protocols();
    machine.exec(
        r#"
        register_protocol {
            name = "dead",
            cancel_turn = function() note("protocol cancelled") end,
            open = function() return {
                next = function() end,
                close = function() note("closed") error("in close") end,
            } end,
        }
        "#,
    );
    let agent = machine.asking("dead");
    let mut config = agent.config();
    let mut model = Model::clone(&config.model);
    model.limits.idle = Some(Duration::from_secs(7));
    config.model = Arc::new(model);
    agent.set_config(config);
    let start = tokio::time::Instant::now();
    let outcome = machine.ask(&agent).await;
    assert_eq!(start.elapsed(), Duration::from_secs(7));
    insta::assert_snapshot!(error(&outcome), @"the provider failed: no event within 7 s (the idle limit of this provider)");
    machine.runtime.run_until(tokio::task::yield_now()).await;
    machine.runtime.run_until(tokio::task::yield_now()).await;
    assert_eq!(machine.log(), ["protocol cancelled", "closed"]);
    assert_eq!(
        machine.failures(),
        ["the protocol `dead` failed: test:7: in close"]
    );
}

/// S0-162: each stream keeps to itself, and stopping one leaves the others.
#[tokio::test(start_paused = true)]
async fn streams_of_one_protocol_interleave_and_are_cancelled_apart() {
    let mut machine = machine();
    machine.protocols();
    machine.tool("work", "sleep(5) return 'worked for ' .. input.who");
    machine.exec(
        r#"
        open_streams, peak = 0, 0
        register_protocol {
            name = "many",
            open = function(request)
                open_streams = open_streams + 1
                peak = math.max(peak, open_streams)
                local who = request.history_transcript:match("I am (%w+)")
                local step, ready = 0, {}
                local timer = uv.new_timer()
                timer:start(10, 10, function()
                    step = step + 1
                    ready[#ready + 1] = step
                    request.notify()
                end)
                local called = request.history_transcript:find("worked for") ~= nil
                return {
                    next = function()
                        local n = table.remove(ready, 1)
                        if not n then return nil end
                        if n < 4 then return { type = "text_delta", text = who .. n .. " " } end
                        if n == 4 and not called then
                            return { type = "tool_call", id = "c", name = "work", input_json = '{"who":"' .. who .. '"}' }
                        end
                        return { type = "done" }
                    end,
                    cancel_turn = function() note("cancel " .. who) end,
                    close = function() open_streams = open_streams - 1 timer:close() end,
                }
            end,
            cancel_turn = function() note("not reached") end,
        }
        "#,
    );
    let agents: Vec<_> = (0..40).map(|_| machine.asking("many")).collect();
    let turns: Vec<_> = agents
        .iter()
        .enumerate()
        .map(|(n, agent)| agent.run(format!("I am a{n}.")).unwrap())
        .collect();
    let controls: Vec<_> = turns.iter().map(|turn| turn.control()).collect();
    let all = futures_util::future::join_all(turns.into_iter().map(|turn| turn.outcome()));
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(25)).await;
        for control in controls.iter().step_by(4) {
            control.cancel();
        }
    };
    let (outcomes, ()) = machine
        .runtime
        .run_until(async { tokio::join!(all, cancelling) })
        .await;
    for (n, outcome) in outcomes.iter().enumerate() {
        if n % 4 == 0 {
            assert_eq!(outcome.stop, StopReason::Cancelled, "{n}");
        } else {
            let expected = format!("a{n}1 a{n}2 a{n}3 ");
            assert_eq!(
                outcome.text.as_deref(),
                Some(expected.as_str()),
                "{}",
                error(outcome)
            );
            assert_eq!(results(&agents[n])[0].1, format!("worked for a{n}"));
        }
    }
    machine.runtime.run_until(tokio::task::yield_now()).await;
    let mut log = machine.log();
    log.sort();
    let mut expected: Vec<_> = (0..40).step_by(4).map(|n| format!("cancel a{n}")).collect();
    expected.sort();
    assert_eq!(log, expected);
    assert_eq!(
        machine.eval::<(i64, i64)>("return open_streams, peak"),
        (0, 40)
    );
}

#[tokio::test(start_paused = true)]
async fn contexts_are_reset_and_released_for_the_agent_that_had_them() {
    let mut machine = machine();
    machine.protocols();
    machine.exec(
        r#"
        register_protocol {
            name = "kept",
            open = function(request)
                note(request.purpose .. " " .. request.context)
                local sent
                return { next = function()
                    if sent then return { type = "done" } end
                    sent = true
                    return { type = "text_delta", text = "A summary." }
                end }
            end,
            reset_context = function(context) note("reset " .. context) end,
            release_context = function(context) note("release " .. context) end,
            close = function() note("close") end,
        }
        "#,
    );
    let (one, other) = (machine.asking("kept"), machine.asking("kept"));
    for _ in 0..3 {
        machine.ask(&one).await;
        machine.ask(&other).await;
    }
    let compaction = one.compact(None).unwrap();
    let outcome = machine.runtime.run_until(compaction.outcome()).await;
    assert!(outcome.error.is_none(), "{}", error(&outcome));
    let contexts = machine.log()[..2].to_vec();
    let context = contexts[0].strip_prefix("turn ").unwrap().to_owned();
    assert_ne!(contexts[0], contexts[1]);
    drop(one);
    drop(outcome);
    machine.runtime.run_until(tokio::task::yield_now()).await;
    machine.runtime.run_until(tokio::task::yield_now()).await;
    let log = machine.log();
    assert_eq!(
        log[..6].iter().filter(|line| **line == contexts[0]).count(),
        3
    );
    assert_eq!(
        log[6..],
        [
            format!("compaction {context}"),
            format!("reset {context}"),
            format!("release {context}"),
        ]
    );
    drop(other);
    let lua = machine.lua.clone();
    machine.runtime.shutdown(Duration::from_secs(1)).await;
    let log: Vec<String> = lua.globals().get("log").unwrap();
    assert_eq!(log.last().unwrap(), "close");
    assert_eq!(log.iter().filter(|line| *line == "close").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_registered_is_checked_replaced_and_removed() {
    let mut machine = machine();
    machine.protocols();
    let mut refusals = Vec::new();
    for argument in [
        "",
        "42",
        "{}",
        "{ name = 'x' }",
        "{ name = '', open = print }",
        "{ name = 'x', open = 1 }",
        "{ name = 'x', open = print, close = 1 }",
        "{ name = 'x', open = print, other = 1 }",
        "{ name = 'x', open = print, effort_levels = { 1 } }",
        "{ name = 'x', open = print, effort_levels = { { label = '' } } }",
        "{ name = 'x', open = print, effort_levels = { { label = 'a' }, { label = 'a' } } }",
        "{ name = 'x', open = print, effort_levels = (function() local t = {} for i = 1, 33 do t[i] = { label = 'l' .. i } end return t end)() }",
    ] {
        let source = format!(
            "local ok, message = pcall(register_protocol, {argument}) assert(not ok) return message"
        );
        refusals.push(
            machine.eval::<String>(&source.replace("register_protocol, )", "register_protocol)")),
        );
    }
    insta::assert_snapshot!(refusals.join("\n"), @"
    bad argument 'protocol' to 'register_protocol' (table expected, got nil)
    bad argument 'protocol' to 'register_protocol' (table expected, got number)
    bad argument 'name' to 'register_protocol' (string expected, got nil)
    bad argument 'open' to 'register_protocol' (function expected, got nil)
    bad argument 'name' to 'register_protocol' (a name must not be empty)
    bad argument 'open' to 'register_protocol' (function expected, got number)
    bad argument 'close' to 'register_protocol' (function expected, got number)
    bad argument 'protocol' to 'register_protocol' (unknown field `other`; it takes `name`, `open`, `effort_levels`, `cancel_turn`, `reset_context`, `release_context`, `close`)
    bad argument 'effort_levels[1]' to 'register_protocol' (table expected, got number)
    bad argument 'effort_levels[1].label' to 'register_protocol' (labels must be unique and not empty)
    bad argument 'effort_levels[2].label' to 'register_protocol' (labels must be unique and not empty)
    bad argument 'effort_levels' to 'register_protocol' (at most 32 levels expected, got 33)
    ");

    let say = |text: &str| {
        format!(
            "register_protocol {{ name = 'p', open = function() local n = 0 return {{ next = function()
                n = n + 1
                return n == 1 and {{ type = 'text_delta', text = '{text}' }} or {{ type = 'done' }}
            end }} end }}"
        )
    };
    machine.exec(&say("old"));
    let agent = machine.asking("p");
    assert_eq!(machine.ask(&agent).await.text.as_deref(), Some("old"));
    machine.exec(&say("new"));
    assert_eq!(machine.ask(&agent).await.text.as_deref(), Some("new"));
    let handle = machine.runtime.handle().clone();
    assert!(!handle.unregister_protocol("somebody", "p"));
    assert!(handle.unregister_protocol("test", "p"));
    assert!(handle.protocol("p").is_none());
    let outcome = machine.ask(&agent).await;
    insta::assert_snapshot!(error(&outcome), @"the provider failed: no protocol `p` is registered (any longer)");
}

#[tokio::test(start_paused = true)]
async fn hooks_in_lua_rewrite_for_every_agent_and_refuse_when_they_fail() {
    let mut machine = machine();
    machine.tool("echo", "return 'got ' .. tostring(input.x)");
    let function = |source: &str| Some(machine.eval::<mlua::Function>(source));
    machine.runtime.handle().set_hooks(panto_runtime::Hooks {
        user_message: function("return function(e) if e.text:find('secret') then return e.text:gsub('secret', '[removed]') end end"),
        tool_input: function(
            "return function(e)
                note(e.tool_name .. ' ' .. e.id .. ' ' .. tostring(e.input.x))
                if e.input.x == 'bad' then error('refused') end
                if e.input.x == 'list' then return panto.json.array { 1 } end
                if e.input.x == 'change' then return { x = 'changed' } end
            end",
        ),
        tool_result: function("return function(e) return '<' .. e.output .. ' ' .. e.status .. '>' end"),
    });
    let script = || {
        calling(
            "echo",
            ["bad", "list", "change", "plain"].map(|x| json!({ "x": x })),
        )
    };
    machine.config("config", script());
    let ask: String = machine
        .drive(
            r#"
            local agent = assert(panto.agent { config = config, store = panto.null_store() })
            agent:set_tools { { name = "echo", description = "x", schema = { type = "object" } } }
            local out = {}
            for event in agent:run("a secret"):events() do
                if event.type == "user_message" then out[#out + 1] = event.text end
                if event.type == "tool_result" then out[#out + 1] = event.output end
            end
            return table.concat(out, "\n")
            "#,
        )
        .await;
    insta::assert_snapshot!(ask, @"
    a [removed]
    <The call was not run: what checks it first failed. error>
    <The call was not run: what checks it first failed. error>
    <got changed ok>
    <got plain ok>
    ");
    let agent = Agent::builder(
        Arc::new(pantograph_scripted::ScriptedProtocol::new(script())),
        crate::support::model(),
    )
    .tool_source(machine.runtime.tool_source())
    .hooks(machine.runtime.hooks())
    .ephemeral();
    machine
        .runtime
        .run_until(agent.ask("no harm"))
        .await
        .unwrap();
    assert_eq!(results(&agent)[2].1, "<got changed ok>");
    let mut failures = machine.failures();
    failures.dedup();
    insta::assert_snapshot!(failures.join("\n"), @"
    a hook failed: test:3: refused
    a hook failed: it returned something that is no JSON object
    a hook failed: test:3: refused
    a hook failed: it returned something that is no JSON object
    ");
}
