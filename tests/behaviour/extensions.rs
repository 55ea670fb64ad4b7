//! What a user's own extension can do: one small extension for each thing, run by the program.

use serde_json::Value;

use crate::support::{Machine, Ran};

/// A machine whose model calls `tool` once, says `done`, and answers any other agent with `inner`.
fn calling(tool: &str, input: &str) -> Machine {
    Machine::with_script(&format!(
        "[[steps]]\nwhen = {{ last = \"go\", last_role = \"user\" }}\nplay = [{{ tool = \"{tool}\", input = {input} }}]\n\
         [[steps]]\nwhen = {{ last = \"inner\" }}\nplay = [{{ text = \"an answer of its own\" }}]\n\
         [[steps]]\nwhen = {{ last_role = \"tool\" }}\nplay = [{{ text = \"done\" }}]\n"
    ))
}

/// The result of the one tool call, as the model reads it.
#[track_caller]
fn result_of(machine: &Machine) -> String {
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    assert_eq!(ran.stderr, "", "{}", ran.shown());
    let results: Vec<Value> = objects(&ran, "tool_result");
    assert_eq!(results.len(), 1, "{}", ran.shown());
    assert_eq!(ran.result()["text"], "done");
    machine.readable(results[0]["output"].as_str().unwrap())
}

fn objects(ran: &Ran, kind: &str) -> Vec<Value> {
    let lines = ran.stdout.lines();
    let objects = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    objects.filter(|object| object["type"] == kind).collect()
}

#[test]
fn it_finds_the_layers_and_prints_beside_the_answer() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    machine.file("work/.panto/x", "");
    machine.extension(
        "list-layers",
        "for _, layer in ipairs(panto.ext.dirs.layers) do\n\
           print(layer.name, layer.name ~= 'base' and layer.dir .. '/skills' or nil)\n\
         end\n\
         print(panto.ext.dirs.home, panto.ext.dirs.project_root, '\\27[2J')",
    );
    insta::assert_snapshot!(machine.run(&["-p", "hi", "--trust"]).shown(), @"
    exit 0
    -- stdout
    hello
    -- stderr
    base	nil
    user	ROOT/home/.config/panto/skills
    project	ROOT/work/.panto/skills
    local	ROOT/work/.panto/local/skills
    ROOT/home	ROOT/work
    ");
}

#[test]
fn it_declares_a_tool_by_returning_it() {
    let machine = calling("echo", "{ message = \"hi there\" }");
    machine.file(
        "home/.config/panto/tools/echo.lua",
        "return {\n\
           name = 'echo', description = 'Gives a message back.',\n\
           schema = { type = 'object', properties = { message = { type = 'string' } }, required = { 'message' } },\n\
           handler = function(input, context)\n\
             assert(context.tool_call_id == 'call_1')\n\
             return ('%s says %s'):format(context.tool_name, input.message)\n\
           end,\n\
         }",
    );
    assert_eq!(result_of(&machine), "echo says hi there");
}

#[test]
fn it_greets_by_a_slash_command() {
    let machine = Machine::with_script("steps = []");
    machine.extension(
        "greet",
        "panto.ext.register_command {\n\
           name = 'greet', description = 'Greets somebody.',\n\
           handler = function(args) return 'Good day, ' .. (args == '' and 'stranger' or args) end,\n\
         }",
    );
    assert_eq!(
        machine.run(&["-p", "/greet  Ada "]).answer(),
        "Good day, Ada\n"
    );
    assert_eq!(
        machine.run(&["x", "greet"]).answer(),
        "Good day, stranger\n"
    );
}

#[test]
fn it_hides_what_a_tool_said() {
    let machine = calling("reveal", "{}");
    machine.extension(
        "redact",
        "panto.ext.register_tool { name = 'reveal', description = 'd', schema = { type = 'object' },\n\
           handler = function() return 'the password is swordfish' end }\n\
         panto.ext.on('tool_result', function(event)\n\
           if event.tool_name == 'reveal' then event.output = event.output:gsub('swordfish', '…') end\n\
         end)",
    );
    assert_eq!(result_of(&machine), "the password is …");
    let id = machine.only_session();
    let kept = machine.run(&["session", "export", &id, "--format", "jsonl"]);
    assert!(!kept.answer().contains("swordfish"));
}

#[test]
fn it_changes_what_a_person_says_and_what_a_tool_gets() {
    let machine = calling("echo", "{ n = 1 }");
    machine.extension(
        "rewrite",
        "panto.ext.register_tool { name = 'echo', description = 'd', schema = { type = 'object' },\n\
           handler = function(input) return tostring(input.n) end }\n\
         panto.ext.on('user_message', function(event) event.text = 'please ' .. event.text end)\n\
         panto.ext.on('tool_call_complete', function(event) event.input = { n = event.input.n + 1 } end)",
    );
    assert_eq!(result_of(&machine), "2");
    let shown = machine.run(&["session", "show", &machine.only_session()]);
    assert!(shown.answer().contains("please go"));
}

#[test]
fn a_component_does_nothing_without_a_screen() {
    let machine = calling("echo", "{}");
    machine.extension(
        "badge",
        "panto.ext.register_tool { name = 'echo', description = 'd', schema = { type = 'object' }, handler = function()\n\
           local uv, co = require('luv'), coroutine.running() uv.new_timer():start(10, 0, function() coroutine.resume(co) end) coroutine.yield()\n\
           return 'x' end }\n\
         panto.ext.on('tool_details', function(event)\n\
           assert(event:get_component() == nil)\n\
           local handle = event:set_component { render = function() error('never drawn') end }\n\
           handle:invalidate()\n\
           handle:set_pinned(true)\n\
           panto.ext.emit('badge', { tool = event.tool_name, shown = handle:alive() })\n\
         end)",
    );
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    assert_eq!(ran.stderr, "");
    assert_eq!(
        objects(&ran, "custom"),
        [
            serde_json::json!({ "type": "custom", "name": "badge", "data": { "tool": "echo", "shown": false } })
        ]
    );
}

#[test]
fn it_is_the_provider() {
    let machine = Machine::without_config();
    machine.write_config("model = \"mine:large\"\nproviders.mine.protocol = \"demo\"\n");
    machine.extension(
        "demo-provider",
        "panto.ext.register_protocol {\n\
           name = 'demo',\n\
           effort_levels = { { label = 'low', detail = 'short' }, { label = 'twice' } },\n\
           open = function(request)\n\
             local events = {\n\
               { type = 'text_delta', text = request.model .. ' of ' .. request.provider },\n\
               { type = 'text_delta', text = request.effort and ', effort ' .. request.effort or '' },\n\
               { type = 'done', usage = { input = 3, output = 2 } },\n\
             }\n\
             return { next = function() return table.remove(events, 1) end, close = function() end }\n\
           end,\n\
         }",
    );
    assert_eq!(machine.run(&["-p", "hi"]).answer(), "large of mine\n");
    let ran = machine.run(&["-p", "hi", "--reasoning", "twice", "-o", "json"]);
    let result = ran.result();
    assert_eq!(result["text"], "large of mine, effort twice");
    assert_eq!(
        result["usage"],
        serde_json::json!({ "input": 3, "output": 2 })
    );
    let ran = machine.run(&["-p", "hi", "--reasoning", "high"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr, @"error: `mine:large` does not know the reasoning label `high`; it knows `low`, `twice`");
    let of_config = |label: &str| {
        machine.write_config(&format!(
            "model = \"mine:large\"\nreasoning = \"{label}\"\nproviders.mine.protocol = \"demo\"\n"
        ));
        machine.run(&["-p", "hi"])
    };
    assert_eq!(of_config("twice").answer(), "large of mine, effort twice\n");
    let other = of_config("high");
    insta::assert_snapshot!(other.stderr, @"warning: `mine:large` does not know the reasoning label `high`; it knows `low`, `twice`; it is left out (ROOT/home/.config/panto/config.toml:2:1)");
    assert_eq!(other.answer(), "large of mine\n");
}

#[test]
fn a_protocol_that_nobody_registers_is_named() {
    let machine = Machine::without_config();
    machine.write_config("model = \"mine:large\"\nproviders.mine.protocol = \"demo\"\n");
    insta::assert_snapshot!(machine.run(&["-p", "hi"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: there is no protocol `demo` (ROOT/home/.config/panto/config.toml:2:16): none is built in, and no extension has registered one
      hint: `panto doctor` lists the extensions and what became of them
    ");
}

#[test]
fn it_steers_the_turn_and_queues_another_one() {
    let machine = Machine::with_script(
        "[[steps]]\nplay = [{ tool = \"check\", input = {} }]\n\
         [[steps]]\nwhen = { last = \"look again\" }\nplay = [{ text = \"I looked again.\" }]\n\
         [[steps]]\nwhen = { last = \"sum up\" }\nplay = [{ text = \"All is well.\" }]\n",
    );
    machine.extension(
        "submits",
        "panto.ext.register_tool { name = 'check', description = 'd', schema = { type = 'object' }, handler = function()\n\
           panto.ext.agent:submit('sum up', { followup = true })\n\
           panto.ext.agent:submit('look again')\n\
           local uv, co = require('luv'), coroutine.running() uv.new_timer():start(10, 0, function() coroutine.resume(co) end) coroutine.yield()\n\
           return 'checked'\n\
         end }\n\
         panto.ext.on('agent_submission', function() panto.ext.emit('queued', {}) end)",
    );
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    assert_eq!(ran.stderr, "");
    let said: Vec<Value> = objects(&ran, "user_message");
    let said: Vec<&str> = said.iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["go", "look again", "sum up"]);
    assert_eq!(objects(&ran, "custom").len(), 2);
    assert_eq!(ran.result()["turns"], 2);
    let ran = machine.run(&["-p", "go"]);
    assert_eq!(ran.answer(), "I looked again.\nAll is well.\n");
}

/// Waits for the loop, for so many milliseconds.
const SLEEP: &str = "local uv = require('luv')\n\
     local function sleep(ms)\n\
       local co, timer = coroutine.running(), uv.new_timer()\n\
       timer:start(ms, 0, function() timer:close() coroutine.resume(co) end)\n\
       coroutine.yield()\n\
     end\n";

#[test]
fn it_runs_a_job_and_reads_its_events() {
    let machine = calling("inspect", "{}");
    let body = format!(
        "{SLEEP}\
         local function inspect(worker)\n\
           local job = assert(worker:run_async {{ prompt = 'inner', metadata = {{ source = 'extension' }} }})\n\
           local seen = {{}}\n\
           repeat\n\
             sleep(1)\n\
             local event = job:next_event()\n\
             while event do\n\
               seen[#seen + 1] = event.type\n\
               event = job:next_event()\n\
             end\n\
           until job:result()\n\
           local result = job:result()\n\
           job:close()\n\
           job:close()\n\
           return result, seen\n\
         end\n\
         panto.ext.register_tool {{ name = 'inspect', description = 'd', schema = {{ type = 'object' }}, handler = function()\n\
           local config = assert(panto.ext.resolve_model())\n\
           local worker = assert(panto.agent {{ config = config, store = panto.null_store() }})\n\
           local result, seen = inspect(worker)\n\
           return table.concat({{ result.status, result.text, seen[1], seen[#seen] }}, '; ')\n\
         end }}"
    );
    machine.extension("jobs", &body);
    assert_eq!(
        result_of(&machine),
        "completed; an answer of its own; turn_start; settled"
    );
    let ran = machine.run(&["-p", "go", "-o", "json"]);
    // The worker's request counts as the session's do.
    assert_eq!(ran.result()["requests"], 3);
}

#[test]
fn it_reads_what_was_said_in_other_sessions() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"Forty-two.\" }]");
    machine.extension(
        "recall",
        "panto.ext.register_command { name = 'recall', description = 'd', handler = function()\n\
           local store = panto.file_system_jsonl_store { dir = panto.ext.session_info().directory }\n\
           local conversation = assert(store:load(assert(store:latest())))\n\
           for i, message in ipairs(conversation:messages()) do\n\
             print(i, message.role, #message.blocks)\n\
           end\n\
           local recent = store:load_messages(store:latest(), { limit = 1, from_end = true, role = 'user' })\n\
           return conversation:transcript() .. '\\n' .. #recent\n\
         end }",
    );
    machine.run(&["-p", "What is the answer?"]).answer();
    insta::assert_snapshot!(machine.run(&["x", "recall"]).shown(), @"
    exit 0
    -- stdout
    [user]
      What is the answer?

    [assistant]
      Forty-two.

    1
    -- stderr
    1	user	1
    2	assistant	1
    ");
}

#[test]
fn a_tool_waits_for_the_loop() {
    let machine = calling("stat", "{ path = \"here\" }");
    machine.file("work/here", "12345");
    machine.extension(
        "stat",
        "local uv = require('luv')\n\
         local function await_stat(path)\n\
           local co, outcome = assert(coroutine.running()), nil\n\
           uv.fs_stat(path, function(err, stat)\n\
             outcome = { err, stat }\n\
             assert(coroutine.resume(co))\n\
           end)\n\
           coroutine.yield()\n\
           return table.unpack(outcome, 1, 2)\n\
         end\n\
         panto.ext.register_tool { name = 'stat', description = 'd', schema = { type = 'object' }, handler = function(input)\n\
           local err, stat = await_stat(input.path)\n\
           if err then return nil, err end\n\
           return stat.size .. ' bytes'\n\
         end }",
    );
    assert_eq!(result_of(&machine), "5 bytes");
}

#[test]
fn it_makes_workers_of_listed_models_and_no_others() {
    let machine = calling("work", "{}");
    machine.extension(
        "workers",
        "local function new_worker(model)\n\
           local config, message = panto.ext.resolve_model { model = model }\n\
           if not config then return nil, message end\n\
           return panto.agent { config = config, store = panto.null_store() }\n\
         end\n\
         panto.ext.register_tool { name = 'work', description = 'd', schema = { type = 'object' }, handler = function()\n\
           local none, message = new_worker('test:modal')\n\
           assert(none == nil)\n\
           local worker <close> = assert(new_worker('test:model'))\n\
           local text\n\
           for event in assert(worker:run('inner')):events() do\n\
             if event.type == 'settled' then text = event.text end\n\
           end\n\
           return text .. '; ' .. message\n\
         end }",
    );
    assert_eq!(
        result_of(&machine),
        "an answer of its own; `test:modal` is not listed; did you mean `test:model`?"
    );
}

#[test]
fn one_that_fails_is_named_and_the_others_work() {
    let machine = calling("echo", "{}");
    machine.extension(
        "good",
        "panto.ext.register_tool { name = 'echo', description = 'd', schema = { type = 'object' }, handler = function() return 'fine' end }",
    );
    machine.extension("raises", "error('at once')");
    machine.file(
        "home/.config/panto/extensions/syntax.lua",
        "return {\nname = }\n",
    );
    machine.file("home/.config/panto/extensions/shape.lua", "return 7");
    insta::assert_snapshot!(machine.run(&["-p", "go"]).shown(), @"
    exit 0
    -- stdout
    done
    -- stderr
    warning: ROOT/home/.config/panto/extensions/shape.lua: extension `shape`: it returned a number; expected `{ name, activate }`, `{ name, description, schema, handler }`, or a list of these
    warning: ROOT/home/.config/panto/extensions/syntax.lua:2: extension `syntax`: unexpected symbol near '}'
    warning: ROOT/home/.config/panto/extensions/raises.lua:3: extension `raises`: at once
    ");
}

#[test]
fn what_a_tool_notes_is_said_while_it_works() {
    let machine = calling("work", "{}");
    machine.extension(
        "work",
        "panto.ext.register_tool { name = 'work', description = 'd', schema = { type = 'object' }, handler = function(_, context)\n\
           context.progress { note = 'half\\27[31m way\\nthere' }\n\
           context.progress { note = 7 }\n\
           context.progress { share = 0.5 }\n\
           return 'worked' end }",
    );
    let ran = machine.run(&["-p", "go"]);
    assert_eq!(
        (ran.code, &*ran.stdout),
        (Some(0), "done\n"),
        "{}",
        ran.shown()
    );
    insta::assert_snapshot!(ran.stderr, @"panto: half way there");
    let json = machine.run(&["-p", "go", "-o", "json"]);
    assert_eq!(json.stderr, ran.stderr);
    let stream = machine.run(&["-p", "go", "-o", "stream-json"]);
    assert_eq!(stream.stderr, "");
    assert_eq!(stream.stdout.matches("\"tool_progress\"").count(), 3);
}

#[test]
fn whatever_is_emitted_is_told_however_much_it_is() {
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"a b c d e f g h\", chunks = 8 }]");
    machine.extension(
        "loud",
        "local function emit(name, count)\n\
           for i = 1, count do panto.ext.emit(name, { i = i }) end\n\
         end\n\
         emit('early', 1000)\n\
         panto.ext.on('assistant_text_delta', function() emit('amid', 300) end)\n\
         panto.ext.on('turn_end', function() emit('late', 1000) end)",
    );
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let customs = objects(&ran, "custom");
    let count = |name: &str| {
        customs
            .iter()
            .filter(|custom| custom["name"] == name)
            .count()
    };
    assert_eq!((count("early"), count("late")), (1000, 1000));
    // Deltas may come as one.
    assert!(count("amid") >= 300 && count("amid") % 300 == 0);
    assert_eq!(ran.result()["text"], "a b c d e f g h");
}

/// Also the shell between, whose own environment anybody of the same user can read.
#[test]
fn programs_that_lua_starts_get_no_key() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    let show = "env; cat /proc/$$/environ /proc/self/environ 2>/dev/null | tr '\\\\0' '\\\\n'; echo it''s over";
    machine.extension(
        "shows",
        &format!(
            "local pipe = io.popen(\"{show}\") print(pipe:read('a'), pipe:close())\n\
             print(os.execute(\"{show} >&2; exit 7\"))\n\
             print(os.execute(), pcall(os.execute, {{}}), pcall(io.popen))"
        ),
    );
    let ran = machine.run_with(
        &[("ANTHROPIC_API_KEY", "sk-secret"), ("PLAIN", "it's here")],
        &["-p", "hi"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(!ran.stderr.contains("sk-secret"), "{}", ran.shown());
    assert!(
        ran.stderr.matches("PLAIN=it's here").count() >= 2,
        "{}",
        ran.shown()
    );
    assert_eq!(ran.stderr.matches("its over").count(), 2, "{}", ran.shown());
    assert!(ran.stderr.contains("nil\texit\t7"), "{}", ran.shown());
    assert!(ran.stderr.contains("true\tfalse\t"), "{}", ran.shown());
}

/// What delegation is made of serves others, too: an example without a word of children.
#[test]
fn it_asks_two_models_at_once() {
    let machine = Machine::with_script(
        "[[steps]]\nwhen = { model = \"one\", last = \"Why?\" }\nplay = [{ text = \"Because.\" }]\n\
         [[steps]]\nwhen = { model = \"two\", last = \"Why?\" }\nplay = [{ error = \"terminal\", message = \"no idea\" }]\n",
    );
    machine.write_config(
        "model = \"test:one\"\n[providers.test]\nprotocol = \"scripted\"\nscript = \"script.toml\"\n\
         [providers.test.models.one]\n[providers.test.models.two]\n\
         [extensions.settings.both]\nmodels = [\"test:one\", \"test:two\"]\n",
    );
    machine.file(
        "home/.config/panto/extensions/both.lua",
        include_str!("../../docs/examples/both.lua"),
    );
    let ran = machine.run(&["both", "--json", "Why?"]);
    let answers: Value = serde_json::from_str(&ran.answer()).unwrap();
    assert_eq!(answers[0]["text"], "Because.");
    assert_eq!(answers[1]["status"], "failed");
    let shown = machine.run(&["both"]);
    assert_eq!(shown.code, Some(2));
}

#[test]
fn a_list_that_names_nothing_is_said() {
    let machine = Machine::with_script("[[steps]]\nrepeat = true\nplay = [{ text = \"ok\" }]");
    machine.extension("greeter", "");
    let config = machine.config_dir().join("config.toml");
    let mut text = std::fs::read_to_string(config).unwrap();
    text.push_str(
        "[tools]\nask = [\"shel\", \"shell\", \"deploy\"]\n[extensions]\ndeny = [\"gretter\", \"elsewhere\"]\n\
         [extensions.settings.gretter]\na = 1\n[extensions.settings.greeter]\na = 1\n",
    );
    machine.write_config(&text);
    insta::assert_snapshot!(machine.run(&["-p", "go"]).stderr, @"
    warning: `tools.ask` (ROOT/home/.config/panto/config.toml:10:1) names `shel`: there is no such tool; did you mean `shell`?
    warning: `extensions.deny` (ROOT/home/.config/panto/config.toml:12:1) names `gretter`: there is no such extension; did you mean `greeter`?
    warning: `extensions.settings` (ROOT/home/.config/panto/config.toml:13:22) names `gretter`: there is no such extension; did you mean `greeter`?
    ");
    let doctor = machine.run(&["doctor"]);
    assert_eq!(doctor.code, Some(2));
    assert!(
        doctor
            .stdout
            .contains("names `elsewhere`: there is no such extension\n"),
        "{}",
        doctor.shown()
    );
    let said = machine.run(&["x"]).stderr;
    assert_eq!(said.matches("warning").count(), 3, "{said}");
}

#[test]
fn they_hear_of_attempts_that_are_void() {
    let machine = Machine::with_script(
        "[[steps]]\nplay = [{ text = \"half\" }, { fault = \"disconnect\" }]\n\
         [[steps]]\nplay = [{ text = \"whole\" }]\n",
    );
    machine.extension(
        "hears",
        "local list = {}\n\
         for _, name in ipairs { 'retry', 'attempt_discarded', 'usage', 'assistant_text_complete' } do\n\
           panto.ext.on(name, function(event)\n\
             list[#list + 1] = name .. ' ' .. tostring(event.error or event.text)\n\
           end)\n\
         end\n\
         panto.ext.on('turn_end', function() print(table.concat(list, '; ')) end)",
    );
    let ran = machine.run(&["-p", "go"]);
    insta::assert_snapshot!(ran.stderr.lines().last().unwrap_or_default(), @"attempt_discarded the stream ended before the answer was complete; retry the stream ended before the answer was complete; assistant_text_complete whole; usage nil");
    assert_eq!(ran.answer(), "whole\n");
}

#[test]
fn names_that_are_nearly_right_are_said() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"ok\" }]");
    machine.extension(
        "listens",
        "panto.ext.on('tool_resutl', print) panto.ext.on('journal', print)",
    );
    machine.extension(
        "mine",
        "panto.ext.register_tool { name = 'read', description = 'd', schema = { type = 'object' }, handler = print }",
    );
    insta::assert_snapshot!(machine.run(&["-p", "go"]).stderr, @"
    warning: extension `listens`: it listens to `tool_resutl`, which is no event of panto's own; did you mean `tool_result`?
    warning: ROOT/home/.config/panto/extensions/mine.lua:3: extension `mine`: the tool `read` is registered already, by `read`; panto ships it: an extension named `read` takes its place
    ");
}

#[test]
fn what_they_do_wrong_is_said_with_its_place() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"ok\" }]");
    machine.extension(
        "assigns",
        "panto.ext.on('assistant_text_complete', function(event)\n event.text = 'x'\nend)\n\
         panto.ext.on('user_message', function(event)\n event.text = {}\nend)",
    );
    machine.extension("requires", "require('nosuchmod')");
    insta::assert_snapshot!(machine.run(&["-p", "go"]).stderr, @"
    warning: ROOT/home/.config/panto/extensions/requires.lua:3: extension `requires`: module 'nosuchmod' not found
    warning: the `user_message` handler of `assigns` failed: ROOT/home/.config/panto/extensions/assigns.lua:7: `text` of a `user_message` event takes text, got table
    warning: the `assistant_text_complete` handler of `assigns` failed: ROOT/home/.config/panto/extensions/assigns.lua:4: `text` of a `assistant_text_complete` event cannot be assigned
    ");
}

#[test]
fn lists_that_are_empty_stay_lists() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"ok\" }]");
    machine.extension(
        "lists",
        "panto.ext.register_command { name = 'lists', description = 'd', handler = function()\n\
           local _, _, diagnostics = panto.ext.frontmatter('text')\n\
           local agent = panto.ext.agent\n\
           return { data = { agent:conversation():messages(), (panto.ext.models { query = 'no such model' }), diagnostics } }\n\
         end }",
    );
    let ran = machine.run(&["x", "--json", "lists"]);
    assert_eq!(
        ran.stdout.split_whitespace().collect::<String>(),
        "[[],[],[]]",
        "{}",
        ran.shown()
    );
}

#[test]
fn an_input_that_cannot_be_one_is_said_with_its_place() {
    let machine = Machine::with_script(
        "[[steps]]\nplay = [{ tool = \"ls\", input = {} }]\n[[steps]]\nplay = [{ text = \"ok\" }]",
    );
    machine.extension(
        "assigns",
        "panto.ext.on('tool_call_complete', function(event) event.input = { f = print } end)",
    );
    let ran = machine.run(&["-p", "go", "-o", "stream-json"]);
    insta::assert_snapshot!(ran.stderr, @"
    warning: the `tool_call_complete` handler of `assigns` failed: ROOT/home/.config/panto/extensions/assigns.lua:3: `input` of a `tool_call_complete` event takes a JSON object: f is a function, which JSON cannot say
    warning: a hook failed: it returned something that is no JSON object
    ");
    // What was to be changed does not run as it was.
    assert!(
        ran.stdout.contains("The call was not run"),
        "{}",
        ran.shown()
    );
}
