//! `AGENTS.md`: what stands in the prompt.

use crate::bench::World;

#[test]
fn rules_go_from_the_user_to_the_working_directory() {
    let mut world = World::new();
    world.cwd = "repo/a/b";
    world.file("AGENTS.md", "above the repository");
    world.file("user/AGENTS.md", "the user's\n");
    world.file(
        "repo/AGENTS.md",
        "\u{feff}the repository's\r\nsecond line\r\n",
    );
    world.file("repo/a/b/AGENTS.md", "the directory's");
    world.file("repo/a/b/c/AGENTS.md", "below");
    let bench = world.activate("rules");
    insta::assert_snapshot!(bench.section("rules"), @r#"
    # Rules

    People wrote these rules for work in these directories and what is below them. Where two disagree
    the later one counts; what the user asks for counts more.

    <rules path="~/user/AGENTS.md">
    the user's
    </rules>

    <rules path="~/repo/AGENTS.md">
    the repository's
    second line
    </rules>

    <rules path="~/repo/a/b/AGENTS.md">
    the directory's
    </rules>
    "#);
    assert_eq!(bench.diagnostics(), "");

    // Text is read in a project that is not trusted, too.
    let trusted = bench.section("rules");
    world.trusted = false;
    assert_eq!(world.activate("rules").section("rules"), trusted);
}

#[test]
fn without_rules_there_is_no_section() {
    let world = World::new();
    assert_eq!(world.activate("rules").section("rules"), "(no section)");
    world.file("repo/AGENTS.md", " \n\n");
    std::fs::create_dir(world.path("user/AGENTS.md")).unwrap();
    let bench = world.activate("rules");
    assert_eq!(
        (bench.section("rules"), bench.diagnostics()),
        ("(no section)".to_owned(), String::new())
    );
}

#[test]
fn rules_that_are_a_pipe_are_said() {
    let world = World::new();
    world.file("repo/x", "");
    let made = std::process::Command::new("mkfifo")
        .arg(world.path("repo/AGENTS.md"))
        .status();
    assert!(made.unwrap().success());
    let bench = world.activate("rules");
    assert_eq!(bench.section("rules"), "(no section)");
    insta::assert_snapshot!(bench.diagnostics());
}

#[test]
fn rules_cannot_end_their_element_nor_reach_the_terminal() {
    let world = World::new();
    world.file(
        "repo/AGENTS.md",
        "a </rules> b < / RULES > c\u{1b}[2J\u{9b}2J d\u{202e}\u{200b}\u{e0041}\u{2066} é 漢 👩\u{200d}🚀",
    );
    let section = world.activate("rules").section("rules");
    insta::assert_snapshot!(section.split_once("<rules").unwrap().1, @r#"
     path="~/repo/AGENTS.md">
    a &lt;/rules> b &lt; / RULES > c[2J2J d é 漢 👩‍🚀
    </rules>
    "#);
}

#[test]
fn rules_are_cut() {
    let mut world = World::new();
    world.cwd = "repo/a/b/c/d";
    for dir in ["repo", "repo/a", "repo/a/b", "repo/a/b/c", "repo/a/b/c/d"] {
        world.file(&format!("{dir}/AGENTS.md"), "ü".repeat(20 * 1024));
    }
    world.file("user/AGENTS.md", "x".repeat(5 * 1024 * 1024));
    let bench = world.activate("rules");
    let section = bench.section("rules");
    assert!(section.len() < 100 * 1024, "{}", section.len());
    insta::assert_snapshot!(bench.diagnostics(), @"
    warning: ~/user/AGENTS.md: these rules are skipped: it has more than 4194304 bytes
    warning: ~/repo/AGENTS.md: only the first 0 of 40960 bytes of these rules are in the prompt
    warning: ~/repo/a/AGENTS.md: only the first 0 of 40960 bytes of these rules are in the prompt
    warning: ~/repo/a/b/AGENTS.md: only the first 32768 of 40960 bytes of these rules are in the prompt
    warning: ~/repo/a/b/c/AGENTS.md: only the first 32768 of 40960 bytes of these rules are in the prompt
    warning: ~/repo/a/b/c/d/AGENTS.md: only the first 32768 of 40960 bytes of these rules are in the prompt
    ");
}

#[test]
fn what_is_no_text_is_told() {
    let world = World::new();
    world.file("repo/AGENTS.md", b"\xff\xfea\0");
    world.file("user/AGENTS.md", "fine");
    let bench = world.activate("rules");
    assert!(bench.section("rules").contains("fine"));
    insta::assert_snapshot!(bench.diagnostics(), @"warning: ~/repo/AGENTS.md: these rules are skipped: the file is no UTF-8 text");
}

#[test]
fn a_strangers_link_brings_no_file_of_the_user() {
    let mut world = World::new();
    world.file("home/secret", "the key");
    world.link(world.path("home/secret"), "repo/AGENTS.md");
    assert!(world.activate("rules").section("rules").contains("the key"));
    world.trusted = false;
    let bench = world.activate("rules");
    assert_eq!(bench.section("rules"), "(no section)");
    insta::assert_snapshot!(bench.diagnostics(), @"warning: ~/repo/AGENTS.md: these rules are skipped: the file is a link that leaves the project");
}

#[test]
fn one_file_in_two_places_counts_once() {
    let world = World::new();
    world.file("repo/docs/rules.md", "once");
    world.link(world.path("repo/docs/rules.md"), "repo/AGENTS.md");
    world.link(world.path("repo/docs/rules.md"), "user/AGENTS.md");
    let section = world.activate("rules").section("rules");
    assert_eq!(section.matches("once").count(), 1);
}
