//! Which extensions load, in which order, and which beat which.

use panto_host::host::{Extension, ExtensionStatus};
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{Desk, ask};

fn entry(name: &str) -> String {
    format!(
        "return {{ name = \"{name}\", activate = function() ORDER = (ORDER or '') .. ' {name}' end }}"
    )
}

fn tool(name: &str, answer: &str) -> String {
    format!(
        "return {{ name = \"{name}\", description = \"d\", schema = {{ type = \"object\" }}, \
         handler = function() return \"{answer}\" end }}"
    )
}

fn shown(desk: &Desk, extensions: &[Extension]) -> String {
    let lines = extensions.iter().map(|extension| {
        let status = match &extension.status {
            ExtensionStatus::Active => "active".to_owned(),
            ExtensionStatus::Denied => "denied".to_owned(),
            ExtensionStatus::Shadowed(by) => {
                format!("shadowed by {}", desk.plain(&by.display().to_string()))
            }
            ExtensionStatus::Failed(why) => format!("failed: {}", desk.plain(why)),
            other => format!("{other:?}"),
        };
        format!("{} ({}) {status}\n", extension.name, extension.layer)
    });
    lines.collect()
}

#[test]
fn layers_are_activated_from_the_lowest_and_higher_ones_shadow() {
    let desk = Desk::silent()
        .file("staged/agent/tools/read.lua", tool("read", "base"))
        .file("staged/agent/extensions/b.lua", entry("b"))
        .file("config/panto/extensions/a.lua", entry("a"))
        .file("config/panto/extensions/_hidden.lua", "error('never')")
        .file("config/panto/extensions/.dot.lua", "error('never')")
        .file("config/panto/extensions/notes.txt", "no Lua")
        .file("config/panto/extensions/empty/readme.md", "no init.lua")
        .file("project/.panto/tools/read.lua", tool("read", "project"))
        .file(
            "project/.panto/extensions/dir/init.lua",
            "return require('inner')",
        )
        .file("project/.panto/extensions/dir/inner.lua", entry("dir"))
        .file("project/.panto/local/extensions/z.lua", entry("z"));
    desk.run(async |_, mut live| {
        insta::assert_snapshot!(shown(&desk, &live.host.extensions()), @r"
        read (base) shadowed by ROOT/project/.panto/tools/read.lua
        b (base) active
        a (user) active
        dir (project) active
        read (project) active
        z (local) active
        ");
        let read = live.handle.agent().tools();
        assert_eq!(read.iter().count(), 1);
        let (_, _) = (&mut live, read);
        live.end().await;
    });
    insta::assert_snapshot!(desk.said().join("\n"), @"info: ROOT/staged/agent/tools/read.lua: extension `read`: `ROOT/project/.panto/tools/read.lua` is used instead");
}

#[test]
fn canonical_directories_beat_paths_and_equals_are_an_error_that_names_both() {
    let desk = Desk::silent()
        .file(
            "config/panto/config.toml",
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
             [extensions]\npaths = [\"more\", \"single.lua\"]\ndeny = [\"unwanted\"]\n",
        )
        .file("project/more/a.lua", entry("a"))
        .file("project/more/p.lua", entry("p"))
        .file("project/single.lua", entry("single"))
        .file("config/panto/extensions/a.lua", entry("a"))
        .file("config/panto/extensions/x.lua", entry("same"))
        .file("config/panto/tools/y.lua", entry("same"))
        .file(
            "config/panto/extensions/unwanted.lua",
            "error('never evaluated')",
        )
        .file(
            "config/panto/extensions/list.lua",
            format!(
                "return {{ (function() {} end)(), {{ name = 'unwanted', activate = error }} }}",
                entry("one")
            ),
        );
    desk.run(async |_, live| {
        insta::assert_snapshot!(shown(&desk, &live.host.extensions()), @"
        unwanted (user) denied
        a (user) shadowed by ROOT/config/panto/extensions/a.lua
        unwanted (user) denied
        same (user) failed: `ROOT/config/panto/extensions/x.lua` has an extension of this name too, and neither beats the other; the first one is used
        p (user) active
        single (user) active
        a (user) active
        one (user) active
        same (user) active
        ");
        live.end().await;
    });
}

#[test]
fn a_file_that_two_layers_have_loads_once() {
    let desk = Desk::silent().file("config/panto/extensions/a.lua", entry("a"));
    std::fs::create_dir_all(desk.path("project/.panto")).unwrap();
    std::os::unix::fs::symlink(
        desk.path("config/panto/extensions"),
        desk.path("project/.panto/extensions"),
    )
    .unwrap();
    desk.run(async |_, live| {
        assert_eq!(shown(&desk, &live.host.extensions()), "a (user) active\n");
        live.end().await;
    });
    assert_eq!(desk.said(), [""; 0]);
}

#[test]
fn siblings_are_their_extensions_own_and_shared_beside_single_files() {
    let desk = Desk::silent()
        .file("config/panto/extensions/one/init.lua", "local u = require('util') return { name = 'one', activate = function() assert(u.who == 'one') end }")
        .file("config/panto/extensions/one/util.lua", "return { who = 'one' }")
        .file("config/panto/extensions/two/init.lua", "local u = require('util') return { name = 'two', activate = function() assert(u.who == 'two') end }")
        .file("config/panto/extensions/two/util.lua", "return { who = 'two' }")
        .file("config/panto/tools/_std.lua", "return { count = 0 }")
        .file("config/panto/tools/a.lua", "local std = require('_std') std.count = std.count + 1 return {}")
        .file("config/panto/tools/b.lua", "local std = require('_std') std.count = std.count + 1 return { name = 'b', activate = function() assert(std.count == 2) end }");
    desk.run(async |_, live| {
        assert_eq!(
            shown(&desk, &live.host.extensions()),
            "one (user) active\ntwo (user) active\nb (user) active\n"
        );
        live.end().await;
    });
}

#[test]
fn registrations_of_two_extensions_clash_by_name_and_an_owner_may_replace_its_own() {
    let tool = |answer: &str| {
        format!(
            "panto.ext.register_tool {{ name = 'mine', description = 'd', schema = {{ type = 'object' }}, handler = function() return '{answer}' end }}"
        )
    };
    let script = Script::new()
        .step(Step::call("mine", json!({})))
        .step("Done.");
    let desk = Desk::new(script)
        .extension("a", &format!("{}\n{}", tool("first"), tool("second")))
        .extension("b", &tool("other"))
        .extension(
            "c",
            "panto.ext.register_command { name = 'c', description = 'd', handler = function() end }\n\
             assert(panto.ext.unregister('command', 'c'))\nassert(not panto.ext.unregister('tool', 'mine'))",
        );
    desk.run(async |_, mut live| {
        assert!(live.host.commands().is_empty());
        ask(&mut live, "go").await;
        let transcript = live.handle.agent().conversation().transcript();
        assert!(transcript.contains("second"), "{transcript}");
        live.end().await;
    });
    insta::assert_snapshot!(desk.said().join("\n"), @"error: ROOT/config/panto/extensions/b.lua:3: extension `b`: the tool `mine` is registered already, by `a`");
}

#[test]
fn a_bundle_is_one_layer_without_a_home() {
    let mut desk = Desk::silent()
        .file("config/panto/extensions/user.lua", "error('never')")
        .file(
            "bundle/config.toml",
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n",
        )
        .file(
            "bundle/extensions/only.lua",
            "local panto = require('panto')\nreturn { name = 'only', activate = function()\n\
             local dirs = panto.ext.dirs\nassert(dirs.home == nil)\nassert(#dirs.layers == 1)\n\
             assert(dirs.layers[1].name == 'bundle')\nend }",
        );
    desk.bundle = true;
    desk.run(async |_, live| {
        assert_eq!(
            shown(&desk, &live.host.extensions()),
            "only (bundle) active\n"
        );
        live.end().await;
    });
    assert_eq!(desk.said(), [""; 0]);
}

#[test]
fn only_the_tools_that_were_asked_for_are_shown() {
    let mut desk = Desk::silent()
        .file("config/panto/tools/a.lua", tool("a", "a"))
        .file("config/panto/tools/b.lua", tool("b", "b"));
    desk.shown_tools = Some(vec!["b".to_owned()]);
    desk.run(async |_, live| {
        let tools = live.handle.agent().tools();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["b"]);
        live.end().await;
    });
}

/// Whoever asks first: another rock before it, an extension behind it, a sibling of one.
#[test]
fn a_shipped_rock_is_one_instance_for_everybody() {
    let asks = |name: &str, body: &str| {
        format!(
            "local panto = require('panto')\nlocal zeta = require('zeta')\nzeta.seen[#zeta.seen + 1] = '{name}'\n\
             return {{ name = '{name}', activate = function() {body} end }}"
        )
    };
    let seen =
        "panto.ext.diagnose('info', table.concat(require('zeta').seen, ' ') .. ' ' .. evaluated)";
    let desk = Desk::silent()
        .file("staged/agent/extensions/early.lua", asks("early", ""))
        .file("staged/alpha/init.lua", asks("alpha", ""))
        .file(
            "staged/zeta/init.lua",
            "evaluated = (evaluated or 0) + 1\n\
             local panto = require('panto')\n\
             local state = require('zeta.state')\n\
             local zeta = { name = 'zeta', seen = state.seen }\n\
             function zeta.activate()\n\
               assert(require('zeta') == zeta)\n\
               zeta.seen[#zeta.seen + 1] = 'active'\n\
               panto.ext.register_command { name = 'zeta', description = 'd', handler = function() end }\n\
             end\n\
             return zeta",
        )
        .file("staged/zeta/state.lua", "return { seen = {} }")
        .file(
            "config/panto/extensions/late/init.lua",
            asks(
                "late",
                &format!("assert(require('helper') == require('zeta.state')) {seen}"),
            ),
        )
        .file(
            "config/panto/extensions/late/helper.lua",
            "assert(require('zeta').seen == require('zeta.state').seen)\nreturn require('zeta.state')",
        );
    let owner = desk.run(async |_, live| {
        let owners = live
            .host
            .commands()
            .into_iter()
            .map(|command| command.source);
        let owners: Vec<String> = owners.collect();
        live.end().await;
        owners
    });
    assert_eq!(owner, ["zeta"]);
    assert_eq!(
        desk.said(),
        ["info: extension `late`: alpha early late active 1"]
    );
}
