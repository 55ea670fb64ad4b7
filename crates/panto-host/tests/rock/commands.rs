//! Prompt commands: Markdown files that are slash commands.

use crate::bench::World;

/// What one command's text becomes with arguments.
fn expanded(body: &str, arguments: &str) -> String {
    let world = World::new();
    world.file("user/commands/c.md", body);
    world.activate("commands").command("c", arguments)
}

#[test]
fn places_are_filled_once() {
    for (body, arguments, wanted) in [
        ("Look at $ARGUMENTS.", "a b", "Look at a b."),
        ("Look at $ARGUMENTS.", "", "Look at ."),
        ("$1 then $2, $1", "a b c", "a then b, a"),
        ("<$1> <$2>", "'a b' \"c d\"", "<a b> <c d>"),
        ("<$1> <$2>", "a\\ b c\\\"", "<a b> <c\">"),
        ("<$1> <$2>", "\"\" x", "<> <x>"),
        ("<$1>", "\"open end", "<open end>"),
        ("<$9>", "1 2 3 4 5 6 7 8 nine 10", "<nine>"),
        ("<$1> <$2>", "one", "<one> <>"),
        // What is put in is not looked into.
        ("$1 $2", "$2 $ARGUMENTS", "$2 $ARGUMENTS"),
        ("$ARGUMENTS", "%1 %%", "%1 %%"),
        // Others stay as they are.
        ("$10 $0 $HOME $ARGUMENTS_X $ $1", "a", "$10 $0 $HOME $ARGUMENTS_X $ a"),
        // A text without places gets the arguments behind it.
        ("Review.\n", "src", "Review.\n\nsrc"),
        ("Review.\n", "", "Review.\n"),
    ] {
        assert_eq!(expanded(body, arguments), wanted, "{body:?} with {arguments:?}");
    }
}

#[test]
fn frontmatter_describes_a_command_and_is_no_part_of_it() {
    let world = World::new();
    let text = "---\ndescription: Reviews: a file\nargument-hint: [file] [depth]\n---\nReview $1.\n";
    world.file("user/commands/review.md", text);
    world.file("user/commands/hint.md", "---\nargument-hint: [file]\n---\n# Check it\n\nAll of it.");
    world.file("user/commands/plain.md", "\n\nFirst line\nsecond");
    world.file("user/commands/git/log.md", "Log.");
    let mut bench = world.activate("commands");
    insta::assert_snapshot!(bench.commands(), @"");
    insta::assert_snapshot!(bench.diagnostics(), @"");
    assert_eq!(bench.command("review", "a.rs"), "Review a.rs.\n");
}

#[test]
fn a_higher_layer_counts() {
    let mut world = World::new();
    for (dir, text) in [
        ("base", "base"),
        ("user", "user"),
        ("repo/.panto", "project"),
        ("repo/.panto/local", "local"),
    ] {
        world.file(&format!("{dir}/commands/same.md"), text);
        world.file(&format!("{dir}/commands/{text}.md"), text);
    }
    let mut bench = world.activate("commands");
    assert_eq!(bench.command("same", ""), "local");
    insta::assert_snapshot!(bench.commands(), @"");
    insta::assert_snapshot!(bench.diagnostics(), @"");
    world.trusted = false;
    let mut bench = world.activate("commands");
    assert_eq!(bench.command("same", ""), "user");
    assert!(!bench.commands().contains("project"));
}

#[test]
fn what_is_no_command_is_skipped_and_told() {
    let world = World::new();
    world.file("user/commands/ok.md", "ok");
    world.file("user/commands/with space.md", "x");
    world.file("user/commands/empty.md", "");
    world.file("user/commands/bad.md", b"\xff\xfe\0");
    world.file("user/commands/open.md", "---\ndescription: d\n");
    world.file("user/commands/notes.txt", "x");
    world.file("user/commands/_draft.md", "x");
    world.file("user/commands/.hidden.md", "x");
    world.file("user/commands/OK.md", "x");
    world.file("user/commands/ok.MD", "x");
    world.link(world.path("user/commands"), "user/commands/loop");
    world.link(world.path("nowhere"), "user/commands/dangling.md");
    let bench = world.activate("commands");
    insta::assert_snapshot!(bench.commands(), @"");
    insta::assert_snapshot!(bench.diagnostics(), @"");
}

#[test]
fn a_command_is_read_when_it_is_used() {
    let world = World::new();
    world.file("user/commands/c.md", "one");
    let mut bench = world.activate("commands");
    world.file("user/commands/c.md", "two");
    assert_eq!(bench.command("c", ""), "two");
    std::fs::remove_file(world.path("user/commands/c.md")).unwrap();
    insta::assert_snapshot!(bench.command("c", ""), @"");
}
