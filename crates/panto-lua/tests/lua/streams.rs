use insta::assert_snapshot;
use mlua::Lua;
use panto_lua::{Place, Ready, Waiter, Waiting};
use pantograph::ErrorClass;
use pantograph_scripted::{Fault, Gate, Script, Step, Text, Thinking};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{machine, machine_with};

#[test]
fn events_have_the_names_and_fields_of_the_core() {
    let step = Step::new()
        .then(Thinking::new("Hmmm.").chunks(2))
        .then(Text::new("Hello you.").chunks(2))
        .then(
            pantograph_scripted::Call::new("t", json!({"a": 1}))
                .id("c1")
                .chunks(2),
        );
    let machine = machine(Script::new().step(step));
    let text = machine.text(
        r#"
        local agent = new_agent()
        agent:set_tools({ { name = "t", description = "", schema = { type = "object" } } })
        local stream = agent:run { prompt = "Hi.", dispatch_tools = false }
        local out, accumulated = {}, {}
        for event in stream:events() do
          if event.delta then accumulated[#accumulated + 1] = event.text or event.input end
          if event.turn_id then event.turn_id = "T" end
          if event.type == "user_message" then event.id = "M" end
          out[#out + 1] = assert(panto.json.encode(event))
        end
        assert(stream:next() == nil and stream:next() == nil)
        out[#out + 1] = table.concat(accumulated, " | ")
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @r#"
    {"turn_id":"T","type":"turn_start"}
    {"id":"M","text":"Hi.","type":"user_message"}
    {"index":0,"type":"thinking"}
    {"delta":"Hm","index":0,"total_bytes":2,"type":"thinking_delta"}
    {"delta":"mm.","index":0,"total_bytes":5,"type":"thinking_delta"}
    {"index":0,"text":"Hmmm.","type":"thinking_complete"}
    {"index":1,"type":"assistant_text"}
    {"delta":"Hello","index":1,"total_bytes":5,"type":"assistant_text_delta"}
    {"delta":" you.","index":1,"total_bytes":10,"type":"assistant_text_delta"}
    {"index":1,"text":"Hello you.","type":"assistant_text_complete"}
    {"index":2,"type":"tool"}
    {"id":"c1","index":2,"tool_name":"t","type":"tool_details"}
    {"delta":"{\"a","id":"c1","index":2,"tool_name":"t","total_bytes":3,"type":"tool_delta"}
    {"delta":"\":1}","id":"c1","index":2,"tool_name":"t","total_bytes":7,"type":"tool_delta"}
    {"id":"c1","index":2,"input":"{\"a\":1}","tool_name":"t","type":"tool_call_complete"}
    {"type":"usage","usage":{}}
    {"stop":"tool_calls","text":"Hello you.","turn_id":"T","type":"settled","usage":{}}
    Hm | Hmmm. | Hello | Hello you. | {"a | {"a":1}
    "#);
}

#[test]
fn the_whole_text_of_a_delta_is_what_it_was_then() {
    let machine = machine(Script::new().step(Text::new("abcdef").chunks(3)));
    machine.exec(
        r#"
        local deltas = {}
        for event in new_agent():run("x"):events() do
          if event.type == "assistant_text_delta" then deltas[#deltas + 1] = event end
        end
        assert(#deltas == 3)
        assert(deltas[1].text == "ab" and deltas[2].text == "abcd" and deltas[3].text == "abcdef")
        assert(deltas[1].nothing == nil)
        deltas[1].total_bytes = 1 << 40
        assert(deltas[1].text == nil)
        "#,
    );
}

#[test]
fn a_second_turn_is_refused_until_the_first_has_settled() {
    let gate = Gate::new();
    let machine = machine(
        Script::new()
            .step(Step::new().on_open(&gate).then("Hi."))
            .step("Ho."),
    );
    machine.exec(
        r#"
        agent = new_agent()
        stream = agent:run("one")
        assert(refused(agent:run("two")):find("live turn", 1, true))
        assert(refused(agent:add_system_message("x")):find("live turn", 1, true))
        "#,
    );
    gate.open();
    machine.exec(
        r#"
        for _ in stream:events() do end
        assert(agent:run("two"):next().type == "turn_start")
        "#,
    );
}

#[test]
fn a_lost_connection_and_a_cancel_can_be_gone_on_from() {
    let gate = Gate::new();
    let script = Script::new()
        .step(Step::error(Fault::Error(pantograph::ProviderError::new(
            ErrorClass::InvalidRequest,
            "no",
        ))))
        .step(Step::new().then("Begun").then(&gate))
        .step("Done.");
    let machine = machine(script);
    machine.exec(
        r#"
        local agent = new_agent()
        local stream = agent:run("x")
        assert(refused(stream:reopen()):find("has not settled", 1, true))
        for _ in stream:events() do end
        assert(refused(stream:reopen()):find("cancelled or lost its connection", 1, true))
        stream = agent:run("y")
        local last
        for event in stream:events() do
          last = event
          if event.type == "assistant_text_delta" then assert(stream:cancel { grace_ms = 0 }) end
        end
        assert(last.type == "settled" and last.stop == "cancelled")
        assert(stream:reopen() == stream)
        for event in stream:events() do last = event end
        assert(last.stop == "end" and last.text == "Done.")
        assert(refused(stream:reopen()):find("cancelled or lost", 1, true))
        "#,
    );
}

#[test]
fn a_stream_that_is_let_go_cancels_its_turn() {
    let gate = Gate::new();
    let step = || Step::new().then("Begun").then(&gate);
    let machine = machine(Script::new().step(step()).step(step()));
    machine.exec(
        r#"
        local agent = new_agent()
        do
          local stream <close> = agent:run("x")
          while stream:next().type ~= "assistant_text_delta" do end
        end
        other = new_agent()
        local stream = other:run("x")
        while stream:next().type ~= "assistant_text_delta" do end
        stream = nil
        collectgarbage() collectgarbage()
        "#,
    );
    machine
        .runtime
        .block_on(machine.protocol.wait_for_open_streams(0));
}

/// Parks coroutines, and resumes them when the test says so.
#[derive(Default)]
struct Parking {
    parked: Rc<RefCell<Vec<(mlua::Thread, Ready)>>>,
}

impl Waiter for Parking {
    fn wait(&self, lua: &Lua, place: Place, ready: Ready) -> Waiting {
        let thread = lua.current_thread();
        if place == Place::CannotYield {
            return Waiting::Refused("no waiting here".to_owned());
        }
        self.parked.borrow_mut().push((thread, ready));
        Waiting::Parked
    }
}

#[test]
fn a_refused_wait_leaves_the_stream_to_its_next_reader() {
    let gate = Gate::new();
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi."));
    let machine = machine_with(script, |embedding| {
        embedding.waiter(Rc::new(Parking::default()))
    });
    machine.exec(
        r#"
        stream = new_agent():run("x")
        -- Up to where it would wait.
        local function read() while stream:next() do end end
        assert(raised(read):find("no waiting here"))
        assert(raised(read):find("no waiting here"))
        "#,
    );
}

#[test]
fn a_host_parks_coroutines_that_wait_and_refuses_others() {
    let gate = Gate::new();
    let parking = Parking::default();
    let parked = Rc::clone(&parking.parked);
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi."));
    let machine = machine_with(script, |embedding| embedding.waiter(Rc::new(parking)));
    machine.exec(
        r#"
        stream = new_agent():run("x")
        local co = coroutine.create(function()
          for event in stream:events() do last = event end
        end)
        assert(coroutine.resume(co))
        -- Too early: it waits again.
        assert(coroutine.resume(co))
        assert(coroutine.status(co) == "suspended")
        assert(refused(stream:next()) == "the stream is being read already; one reader at a time")
        "#,
    );
    gate.open();
    loop {
        let Some((thread, ready)) = parked.borrow_mut().pop() else {
            break;
        };
        machine.runtime.block_on(ready);
        if thread.is_resumable() {
            thread.resume::<()>(()).unwrap();
        }
    }
    machine.exec(r#"assert(last.type == "settled")"#);
}

#[test]
fn a_wait_that_the_host_refuses_raises_at_the_caller() {
    let gate = Gate::new();
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi.").repeated());
    let machine = machine_with(script, |embedding| {
        embedding.waiter(Rc::new(Parking::default()))
    });
    let message = machine.text(
        r#"
        local stream = new_agent():run("x")
        return raised(function()
          while true do stream:next() end
        end)
        "#,
    );
    assert_eq!(message, "test:4: no waiting here");
    // Also below what cannot be yielded across, and through `pcall`.
    machine.exec(
        r#"
        local stream = new_agent():run("x")
        local co = coroutine.create(function()
          return pcall(table.sort, { 2, 1, 3 }, function()
            while true do stream:next() end
          end)
        end)
        local resumed, ok, message = coroutine.resume(co)
        assert(resumed and not ok and message == "test:5: no waiting here", message)
        "#,
    );
}

#[test]
fn a_reader_that_is_closed_while_it_waits_takes_nothing_with_it() {
    let gate = Gate::new();
    let parking = Parking::default();
    let parked = Rc::clone(&parking.parked);
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi."));
    let machine = machine_with(script, |embedding| embedding.waiter(Rc::new(parking)));
    machine.exec(
        r#"
        seen = {}
        stream = new_agent():run("x")
        function read() for event in stream:events() do seen[#seen + 1] = event.type end end
        local co = coroutine.create(read)
        repeat assert(coroutine.resume(co)) until #seen == 2
        assert(coroutine.status(co) == "suspended")
        assert(coroutine.close(co))
        "#,
    );
    gate.open();
    let ready: Vec<Ready> = parked
        .borrow_mut()
        .drain(..)
        .map(|(_, ready)| ready)
        .collect();
    for ready in ready {
        machine.runtime.block_on(ready);
    }
    machine.all_settled();
    machine.exec(
        r#"
        collectgarbage() collectgarbage()
        read()
        assert(table.concat(seen, " ") == "turn_start user_message assistant_text "
          .. "assistant_text_delta assistant_text_complete usage settled", table.concat(seen, " "))
        "#,
    );
}
