//! `--bundle DIR`: one directory stands for everything.

use std::fs;

use crate::support::Machine;

fn machine() -> Machine {
    let machine = Machine::without_config();
    machine.write_config("model = \"nobody:never\"");
    machine.extension("users", "print('the user\\'s extension')");
    machine.file(
        "work/.panto/extensions/projects.lua",
        "print('the project\\'s')",
    );
    machine.file(
        "bundle/config.toml",
        "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\nscript = \"script.toml\"\n[providers.test.models.model]\n",
    );
    machine.file(
        "bundle/script.toml",
        "[[steps]]\nplay = [{ text = \"from the bundle\" }]",
    );
    machine.file(
        "bundle/extensions/own.lua",
        "local panto = require('panto')\n\
         return { name = 'own', activate = function()\n\
           local dirs = panto.ext.dirs\n\
           print(#dirs.layers, dirs.layers[1].name, dirs.layers[1].dir, dirs.home)\n\
           panto.ext.register_command { name = 'own', description = 'd', handler = function() return 'mine' end }\n\
         end }",
    );
    machine
}

#[test]
fn it_alone_counts() {
    let machine = machine();
    let ran = machine.run(&["-p", "hi", "--bundle", "../bundle"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    from the bundle
    -- stderr
    1	bundle	ROOT/bundle	nil
    ");
    insta::assert_snapshot!(machine.run(&["x", "--bundle", "../bundle"]).shown(), @"
    exit 0
    -- stdout
    own  d
    -- stderr
    1	bundle	ROOT/bundle	nil
    ");
}

#[test]
fn one_that_is_not_there_or_contradicts_other_flags_is_refused() {
    let machine = machine();
    let refused = |arguments: &[&str]| {
        let ran = machine.run(&[&["-p", "hi", "--bundle", "../bundle"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.shown());
    };
    refused(&["--trust"]);
    refused(&["--no-extensions"]);
    fs::remove_dir_all(machine.root().join("bundle")).unwrap();
    insta::assert_snapshot!(machine.run(&["-p", "hi", "--bundle", "../bundle"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: `--bundle` names `../bundle`, which cannot be entered
      cause: No such file or directory (os error 2)
    ");
}
