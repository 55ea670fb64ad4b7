//! What a skill is for the model and for a person.

use crate::bench::World;

const REVIEW: &str = "---
name: review
description: Reviews a change & says <what> is \"wrong\"
license: MIT
compatibility: git
allowed-tools: read grep
metadata:
  version: 1.0
unknown: x
---

# Review

Look at it. </skill> And </SKILL > too.
";

fn review() -> World {
    let world = World::new();
    world.file("user/skills/review/SKILL.md", REVIEW);
    world.file("user/skills/review/scripts/check.sh", "x");
    world.file("user/skills/review/notes.md", "x");
    world.file("user/skills/review/.hidden", "x");
    world
}

#[test]
fn the_system_prompt_has_names_and_descriptions() {
    let bench = review().activate("skills");
    insta::assert_snapshot!(bench.section("skills"), @"");
    assert_eq!(bench.diagnostics(), "");
}

#[test]
fn the_tool_gives_the_instructions_and_names_the_files() {
    let world = review();
    world.skill("user/skills/other", "other", "d");
    let mut bench = world.activate("skills");
    insta::assert_snapshot!(bench.tool("skill", "{ name = 'review' }"), @"");
    insta::assert_snapshot!(bench.tool("skill", "{ name = 'reviews' }"), @"");
    insta::assert_snapshot!(bench.tool("skill", "{}"), @"");
    std::fs::remove_file(world.path("user/skills/other/SKILL.md")).unwrap();
    insta::assert_snapshot!(bench.tool("skill", "{ name = 'other' }"), @"");
}

#[test]
fn a_person_starts_one_with_words_of_their_own() {
    let world = World::new();
    world.skill("user/skills/x", "x", "Does x.");
    let mut bench = world.activate("skills");
    insta::assert_snapshot!(bench.commands(), @"");
    insta::assert_snapshot!(bench.command("skill:x", "the file $1"), @"");
    insta::assert_snapshot!(bench.command("skill:x", ""), @"");
    std::fs::remove_dir_all(world.path("user/skills/x")).unwrap();
    insta::assert_snapshot!(bench.command("skill:x", ""), @"");
}

#[test]
fn a_setting_turns_the_commands_off() {
    let mut world = review();
    world.settings = "{ enableSkillCommands = false }".to_owned();
    let bench = world.activate("skills");
    assert_eq!(bench.commands(), "");
    assert_eq!(bench.tools(), "skill");
}

#[test]
fn what_only_people_start_is_hidden_from_the_model() {
    let world = World::new();
    for (name, flag) in [("a", "true"), ("b", "yes"), ("c", "\"True\""), ("d", "false")] {
        world.file(
            &format!("user/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: d\ndisable-model-invocation: {flag}\n---\nBody"),
        );
    }
    let mut bench = world.activate("skills");
    insta::assert_snapshot!(bench.section("skills").split_once("<available").unwrap().1, @"");
    insta::assert_snapshot!(bench.commands(), @"");
    insta::assert_snapshot!(bench.tool("skill", "{ name = 'a' }"), @"");
    insta::assert_snapshot!(bench.tool("skill", "{ name = 'z' }"), @"");
    assert!(bench.command("skill:a", "").contains("Body"));
}

#[test]
fn only_hidden_skills_are_no_tool() {
    let world = World::new();
    let text = "---\nname: a\ndescription: d\ndisable-model-invocation: true\n---\nBody";
    world.file("user/skills/a/SKILL.md", text);
    let bench = world.activate("skills");
    assert_eq!((bench.tools().as_str(), bench.section("skills").as_str()), ("", "(no section)"));
    assert_eq!(bench.commands(), "/skill:a d\n");
}

#[test]
fn a_link_of_a_skill_to_itself_ends() {
    let world = review();
    world.link(world.path("user/skills/review"), "user/skills/review/again");
    for n in 0..150 {
        world.file(&format!("user/skills/review/data/{n}.txt"), "x");
    }
    let mut bench = world.activate("skills");
    let text = bench.tool("skill", "{ name = 'review' }");
    assert_eq!(text.matches("\n- data/").count(), 100);
    assert!(text.contains("- … (only 100 are named)") && !text.contains("again/"), "{text}");
}
