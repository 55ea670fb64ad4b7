//! What extensions learn of the session and of models, and the configurations that they get.

use pantograph_scripted::{Call, Script, Step};
use serde_json::json;

use crate::support::{Desk, ask, log_of};

/// Writes what `body` gives, as JSON, to a file.
fn told(body: &str) -> String {
    let script = Script::new().step("Done.").step("Done.").step("Done.");
    let mut desk = Desk::new(script);
    let file = desk.path("log").display().to_string();
    desk = desk.extension(
        "asks",
        &format!(
            "local function ask()\n{body}\nend\n\
             panto.ext.on('session_ready', function()\n\
               local file = io.open('{file}', 'a')\n\
               local told = table.pack(ask())\n\
               for i = 1, told.n do if told[i] == nil then told[i] = panto.json.null end end\n\
               told.n = nil\n\
               file:write(panto.json.encode(told), '\\n')\n\
               file:close()\n\
             end)"
        ),
    );
    desk.run(async |_, live| live.end().await);
    assert_eq!(desk.said(), [""; 0]);
    desk.plain(&log_of(&desk.path("log")))
}

#[test]
fn the_session_is_a_plain_record() {
    let info = told(
        "local info = panto.ext.session_info() assert(#info.id == 36) info.id = nil info.directory = info.directory:match(\"^(.*)/\") return info",
    );
    insta::assert_snapshot!(info);
}

#[test]
fn models_describe_providers_lists_and_one() {
    insta::assert_snapshot!(told(
        "local providers = panto.ext.models {} for _, p in ipairs(providers) do if p.name == 'test' then return p end end"
    ));
    insta::assert_snapshot!(told("return panto.ext.models { provider = 'test' }"));
    insta::assert_snapshot!(told(
        "return panto.ext.models { provider = 'test', query = 'oth' }"
    ));
    insta::assert_snapshot!(told("return panto.ext.models { model = 'test:other' }"));
    insta::assert_snapshot!(told("return panto.ext.models { model = 'test:othr' }"));
    insta::assert_snapshot!(told(
        "return #panto.ext.models { provider = 'openai', limit = 3 }, panto.ext.models { provider = 'opnai' }"
    ));
}

#[test]
fn a_list_of_models_says_how_many_match() {
    let counted = told(
        "local one, all = panto.ext.models { provider = 'test', limit = 1 }\n\
         local few, fitting = panto.ext.models { provider = 'test', query = 'oth' }\n\
         return #one, all, #few, fitting, select('#', panto.ext.models {})",
    );
    insta::assert_snapshot!(counted, @"[1,2,1,1,1]");
}

#[test]
fn an_empty_label_is_none_at_all() {
    let labels = told(
        "local resolve = panto.ext.resolve_model\n\
         assert(panto.ext.agent:set_config(assert(resolve { reasoning = 'high' })))\n\
         return resolve().reasoning, resolve({ reasoning = '' }).reasoning,\n\
           resolve({ model = 'test:model', reasoning = '' }).reasoning,\n\
           resolve({ model = 'test:other', reasoning = '' }).reasoning",
    );
    insta::assert_snapshot!(labels, @r#"["high",null,null,null]"#);
}

#[test]
fn resolved_models_are_opaque_and_nothing_unlisted_is_taken() {
    insta::assert_snapshot!(told(
        "local c = panto.ext.resolve_model { model = 'test:other', reasoning = 'high' } return type(c), c.model, c.reasoning, (pcall(function() return c.api_key end)), (pcall(function() return c.base_url end))"
    ));
    insta::assert_snapshot!(told("local c = panto.ext.resolve_model() return c.model"));
    insta::assert_snapshot!(told(
        "return panto.ext.resolve_model { model = 'test:other', reasoning = 'medium' }"
    ));
    insta::assert_snapshot!(told(
        "return panto.ext.resolve_model { model = 'test:nowhere' }"
    ));
    insta::assert_snapshot!(told(
        "return panto.ext.resolve_model { model = 'nobody:x' }"
    ));
    insta::assert_snapshot!(told(
        "return panto.ext.resolve_model { model = 'just-a-name' }"
    ));
    insta::assert_snapshot!(told(
        "return pcall(panto.ext.resolve_model, { tool_choice = 'maybe' })"
    ));
    insta::assert_snapshot!(told(
        "return type(panto.ext.resolve_model { tool_choice = { name = 'x' } })"
    ));
}

#[test]
fn a_registered_protocol_answers_for_its_provider() {
    let desk = Desk::silent()
        .file(
            "config/panto/config.toml",
            "model = \"mine:big\"\n[providers.mine]\nprotocol = \"demo\"\n",
        )
        .extension(
            "provider",
            "panto.ext.register_protocol {\n\
               name = 'demo',\n\
               effort_levels = { { label = 'quick', detail = 'short response' } },\n\
               open = function(request)\n\
                 local sent = false\n\
                 return { next = function(self)\n\
                   if sent then return { type = 'done', usage = { output = 1 } } end\n\
                   sent = true\n\
                   return { type = 'text_delta', text = 'Hello from ' .. request.model }\n\
                 end, close = function(self) end }\n\
               end }\n\
             panto.ext.on('session_ready', function()\n\
               local config = assert(panto.ext.resolve_model { model = 'mine:big', reasoning = 'quick' })\n\
               assert(config.reasoning == 'quick')\n\
               local none, why = panto.ext.resolve_model { model = 'mine:big', reasoning = 'slow' }\n\
               assert(none == nil and why:find('quick', 1, true), why)\n\
             end)",
        );
    let (run, answer) = desk.run(async |_, mut live| {
        let asked = ask(&mut live, "hi").await;
        live.end().await;
        asked
    });
    assert_eq!(answer, "Hello from big\n");
    assert_eq!(run.usage.usage.output, Some(1));
    assert_eq!(desk.said(), [""; 0]);
}

#[test]
fn a_registered_protocol_is_there_for_agents_of_extensions_alone() {
    let script = Script::new()
        .step(Step::from(Call::new("ask", json!({}))))
        .step("Done.");
    let desk = Desk::new(script)
        .file(
            "config/panto/config.toml",
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n[providers.test.models.model]\n\
             [providers.mine]\nprotocol = \"demo\"\n[providers.mine.models.big]\n",
        )
        .extension(
            "provider",
            "panto.ext.register_protocol { name = 'demo', open = function()\n\
               local events = { { type = 'text_delta', text = 'Hello from Lua' }, { type = 'done' } }\n\
               return { next = function() return table.remove(events, 1) end }\n\
             end }\n\
             panto.ext.register_tool { name = 'ask', description = 'd', schema = { type = 'object' }, handler = function()\n\
               local config = assert(panto.ext.resolve_model { model = 'mine:big' })\n\
               local agent = assert(panto.agent { config = config, store = panto.null_store() })\n\
               local answer\n\
               for event in assert(agent:run('hi')):events() do answer = event.text or event.error or answer end\n\
               print(answer)\n\
               return answer\n\
             end }",
        );
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        live.end().await;
    });
    assert_eq!(desk.said(), ["printed: Hello from Lua"]);
}

#[test]
fn keys_are_in_no_environment_that_lua_sees() {
    // The desk gives Lua one variable; the process has others.
    let seen = told(
        "local uv = require('luv') return os.getenv('SEEN'), os.getenv('PATH') == nil, uv.os_getenv('SEEN'), panto.ext.shell_environment()",
    );
    insta::assert_snapshot!(seen, @r#"["yes",true,"yes",["SEEN=yes"]]"#);
}
