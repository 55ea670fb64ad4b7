//! The examples of `docs/skills.md` are what they are said to be.

use crate::bench::World;

const PAGE: &str = include_str!("../../../../docs/skills.md");

/// The page's example of a kind.
fn example(kind: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_skill_loads_and_nothing_is_said() {
    let world = World::new();
    world.file(
        "user/skills/release-notes/SKILL.md",
        example("markdown skill"),
    );
    let mut bench = world.activate("skills");
    assert_eq!(bench.diagnostics(), "");
    assert!(
        bench
            .command("skill:release-notes", "")
            .contains("Leave out what users do not see.")
    );
}

#[test]
fn the_command_expands() {
    let world = World::new();
    world.file("user/commands/review.md", example("markdown command"));
    let mut bench = world.activate("commands");
    assert_eq!(bench.diagnostics(), "");
    assert_eq!(
        bench.command("review", "'a b.rs' names"),
        "Review a b.rs. Look at: 'a b.rs' names\n"
    );
}

#[test]
fn the_settings_are_known() {
    let mut world = World::new();
    let table: toml::Table = example("toml").parse().unwrap();
    let settings = &table["extensions"]["settings"]["skills"];
    let keys: Vec<&str> = settings
        .as_table()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["paths", "enableSkillCommands"]);
    world.settings = "{ paths = {}, enableSkillCommands = false }".to_owned();
    assert_eq!(world.activate("skills").diagnostics(), "");
}
