//! `panto doctor`: what is configured, what is found, and what is wrong with it.

use crate::support::Machine;

/// What it says, without the extensions that panto ships.
fn diagnosis(machine: &Machine, arguments: &[&str]) -> String {
    let ran = machine.run(&[&["doctor"], arguments].concat());
    let text = machine.readable(&ran.shown());
    let lines = text
        .lines()
        .filter(|line| !line.contains(" (base): active; "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_machine_where_all_is_well() {
    let machine = Machine::with_script("steps = []");
    machine.extension("notes", "");
    insta::assert_snapshot!(diagnosis(&machine, &[]), @"");
}

#[test]
fn every_problem_comes_with_its_remedy() {
    let machine = Machine::with_script("steps = []");
    machine.write_config(
        "model = \"mine:big\"\nproviders.mine.protocol = \"nobodys\"\nproviders.openai.max_retries = 1\n\
         [extensions]\ndeny = [\"denied\"]\n",
    );
    machine.extension("raises", "error('no luck')");
    machine.extension("denied", "");
    machine.extension("twice", "");
    machine.file(
        "home/.config/panto/tools/twice.lua",
        "return { name = 'twice', activate = print }",
    );
    insta::assert_snapshot!(diagnosis(&machine, &[]), @"");
}

#[test]
fn without_anything_it_says_where_things_would_be() {
    let machine = Machine::without_config();
    insta::assert_snapshot!(diagnosis(&machine, &["--no-extensions"]), @"");
}
