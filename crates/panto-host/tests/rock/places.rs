//! Which skills are found where, and which of two counts.

use crate::bench::{Bench, World};

/// The names that the model sees, with their places.
fn found(bench: &Bench) -> String {
    let section = bench.section("skills");
    let inner = |line: &str, element: &str| {
        let rest = line.trim().strip_prefix(&format!("<{element}>"))?;
        Some(rest.strip_suffix(&format!("</{element}>"))?.to_owned())
    };
    let names = section.lines().filter_map(|line| inner(line, "name"));
    let files = section.lines().filter_map(|line| inner(line, "location"));
    let pairs: Vec<String> = names
        .zip(files)
        .map(|(name, file)| format!("{name} {file}"))
        .collect();
    pairs.join("\n")
}

/// A world with a skill in each place.
fn everywhere() -> World {
    let mut world = World::new();
    world.cwd = "repo/a/b";
    std::fs::create_dir_all(world.path(world.cwd)).unwrap();
    for (dir, name) in [
        ("base/skills/base", "base"),
        ("user/skills/user", "user"),
        ("home/.agents/skills/home", "home"),
        ("repo/.agents/skills/top", "top"),
        ("repo/a/.agents/skills/middle", "middle"),
        ("repo/a/b/.agents/skills/near", "near"),
        ("repo/.panto/skills/project", "project"),
        ("repo/.panto/local/skills/local", "local"),
        (".agents/skills/above", "above"),
        ("repo/more/skills/more", "more"),
        ("elsewhere/given", "given"),
    ] {
        world.skill(dir, name, "d");
    }
    world
}

#[test]
fn skills_come_from_layers_shared_directories_settings_and_flags() {
    let mut world = everywhere();
    world.settings = format!(
        "{{ paths = {{ 'more/skills' }}, extra = {{ '{}/given' }} }}",
        world.path("elsewhere").display()
    );
    let bench = world.activate("skills");
    insta::assert_snapshot!(found(&bench), @"
    base ~/base/skills/base/SKILL.md
    given ~/elsewhere/given/SKILL.md
    home ~/home/.agents/skills/home/SKILL.md
    local ~/repo/.panto/local/skills/local/SKILL.md
    middle ~/repo/a/.agents/skills/middle/SKILL.md
    more ~/repo/more/skills/more/SKILL.md
    near ~/repo/a/b/.agents/skills/near/SKILL.md
    project ~/repo/.panto/skills/project/SKILL.md
    top ~/repo/.agents/skills/top/SKILL.md
    user ~/user/skills/user/SKILL.md
    ");
    assert_eq!(bench.diagnostics(), "");
}

#[test]
fn a_project_that_is_not_trusted_brings_none() {
    let mut world = everywhere();
    world.trusted = false;
    insta::assert_snapshot!(found(&world.activate("skills")), @"
    base ~/base/skills/base/SKILL.md
    home ~/home/.agents/skills/home/SKILL.md
    user ~/user/skills/user/SKILL.md
    ");
}

#[test]
fn flags_add_to_no_skills() {
    let mut world = everywhere();
    let extra = world.path("elsewhere/given");
    world.settings = format!("{{ disabled = true, extra = {{ '{}' }} }}", extra.display());
    insta::assert_snapshot!(found(&world.activate("skills")), @"given ~/elsewhere/given/SKILL.md");
    world.settings = "{ disabled = true }".to_owned();
    let bench = world.activate("skills");
    assert_eq!(bench.section("skills"), "(no section)");
    assert_eq!(bench.tools(), "");
    assert_eq!(bench.commands(), "");
}

#[test]
fn without_a_git_repository_the_project_is_the_limit() {
    let world = everywhere();
    std::fs::remove_dir(world.path("repo/.git")).unwrap();
    let shown = found(&world.activate("skills"));
    assert!(
        shown.contains("top ") && !shown.contains("above "),
        "{shown}"
    );
}

#[test]
fn only_native_directories_take_loose_files() {
    let world = World::new();
    let loose = "---\nname: NAME\ndescription: d\n---\nDo it.\n";
    for (dir, name) in [
        ("user/skills", "native"),
        ("home/.agents/skills", "shared"),
        ("user/skills/deeper", "deeper"),
    ] {
        world.file(&format!("{dir}/{name}.md"), loose.replace("NAME", name));
    }
    world.file("user/skills/README.md", "# About these\n");
    world.file("user/skills/stem.MD", "---\ndescription: d\n---\nDo it.\n");
    let bench = world.activate("skills");
    insta::assert_snapshot!(found(&bench), @"
    native ~/user/skills/native.md
    stem ~/user/skills/stem.MD
    ");
    assert_eq!(bench.diagnostics(), "");
}

#[test]
fn directories_are_searched_but_hidden_ones_and_those_of_a_skill() {
    let world = World::new();
    for (dir, name) in [
        ("user/skills/group/deep/one", "one"),
        ("user/skills/.hidden/two", "two"),
        ("user/skills/node_modules/three", "three"),
        ("user/skills/four", "four"),
        ("user/skills/four/examples/five", "five"),
        ("user/skills/1/2/3/4/5/6/7/8/9/six", "six"),
    ] {
        world.skill(dir, name, "d");
    }
    let bench = world.activate("skills");
    insta::assert_snapshot!(found(&bench), @"
    four ~/user/skills/four/SKILL.md
    one ~/user/skills/group/deep/one/SKILL.md
    ");
    insta::assert_snapshot!(bench.diagnostics(), @"warning: ~/user/skills/1/2/3/4/5/6/7/8: no skills are looked for as deep as this");
}

#[test]
fn links_are_followed_once_and_loops_are_cut() {
    let world = World::new();
    world.skill("elsewhere/linked", "linked", "d");
    world.link(world.path("elsewhere/linked"), "user/skills/linked");
    world.link(world.path("elsewhere"), "user/skills/twice");
    world.link(world.path("user/skills"), "user/skills/loop");
    world.link("self", "user/skills/self");
    world.link(world.path("nowhere"), "user/skills/dangling.md");
    // The same directory in two places.
    world.link(world.path("elsewhere"), "home/.agents/skills");
    let bench = world.activate("skills");
    insta::assert_snapshot!(found(&bench), @"linked ~/user/skills/linked/SKILL.md");
    insta::assert_snapshot!(bench.diagnostics(), @"
    warning: ~/user/skills/dangling.md: skipped: ENOENT: no such file or directory
    info: ~/user/skills/loop: skipped: the link leads back to where it is
    warning: ~/user/skills/self: skipped: ELOOP: too many symbolic links encountered
    ");
}

#[test]
fn of_two_with_one_name_the_first_counts() {
    let world = World::new();
    world.skill("base/skills/x", "same", "base's");
    world.skill("user/skills/b", "same", "the second");
    world.skill("user/skills/a", "same", "the first");
    world.skill("repo/.panto/skills/z", "same", "the project's");
    let bench = world.activate("skills");
    insta::assert_snapshot!(found(&bench), @"same ~/repo/.panto/skills/z/SKILL.md");
    insta::assert_snapshot!(bench.diagnostics(), @"
    warning: ~/user/skills/a/SKILL.md: skipped: `~/repo/.panto/skills/z/SKILL.md` has a skill named `same`, too
    warning: ~/user/skills/b/SKILL.md: skipped: `~/repo/.panto/skills/z/SKILL.md` has a skill named `same`, too
    warning: ~/base/skills/x/SKILL.md: skipped: `~/repo/.panto/skills/z/SKILL.md` has a skill named `same`, too
    ");
}

#[test]
fn places_that_a_person_named_are_told_if_they_are_not_there() {
    let mut world = World::new();
    world.file("repo/file.txt", "x");
    let missing = world.path("missing");
    world.settings = format!(
        "{{ paths = {{ 'nowhere', '~/gone', 3 }}, extra = {{ '{}' }}, disabled = 'yes', pahts = {{}} }}",
        missing.display()
    );
    insta::assert_snapshot!(world.activate("skills").diagnostics(), @"
    warning: [extensions.settings.skills]: `disabled` is a string, not a boolean
    warning: [extensions.settings.skills]: `pahts` is unknown; there are `paths` and `enableSkillCommands`
    warning: [extensions.settings.skills]: `paths[3]` is no path
    warning: ~/missing: no skills here: ENOENT: no such file or directory
    warning: ~/repo/nowhere: no skills here: ENOENT: no such file or directory
    warning: ~/home/gone: no skills here: ENOENT: no such file or directory
    ");
}

#[test]
fn without_a_home_there_are_no_shared_skills_of_it() {
    let mut world = everywhere();
    world.has_home = false;
    assert!(!found(&world.activate("skills")).contains("home "));
}

#[test]
fn many_skills_are_bounded() {
    let world = World::new();
    for n in 0..600 {
        world.skill(
            &format!("user/skills/s{n:03}"),
            &format!("s{n:03}"),
            &"long ".repeat(20),
        );
    }
    let bench = world.activate("skills");
    let section = bench.section("skills");
    assert!(section.len() < 60 * 1024, "{}", section.len());
    assert!(section.contains("more; the tool `skill` takes their names"));
    insta::assert_snapshot!(bench.diagnostics(), @"
    warning: ~/user/skills/s500: there is too much: no skills are looked for here and in what follows
    warning: there are more skills than the system prompt has room for; 296 are not in it
    ");
}
