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
        (
            "$10 $0 $HOME $ARGUMENTS_X $ $1",
            "a",
            "$10 $0 $HOME $ARGUMENTS_X $ a",
        ),
        // A text without places gets the arguments behind it.
        ("Review.\n", "src", "Review.\n\nsrc"),
        ("Review.\n", "", "Review.\n"),
    ] {
        assert_eq!(
            expanded(body, arguments),
            wanted,
            "{body:?} with {arguments:?}"
        );
    }
}

#[test]
fn frontmatter_describes_a_command_and_is_no_part_of_it() {
    let world = World::new();
    let text =
        "---\ndescription: Reviews: a file\nargument-hint: [file] [depth]\n---\nReview $1.\n";
    world.file("user/commands/review.md", text);
    world.file(
        "user/commands/hint.md",
        "---\nargument-hint: [file]\n---\n# Check it\n\nAll of it.",
    );
    world.file("user/commands/plain.md", "\n\nFirst line\nsecond");
    world.file("user/commands/git/log.md", "Log.");
    let mut bench = world.activate("commands");
    insta::assert_snapshot!(bench.commands(), @"
    /git:log Log.
    /hint Check it (arguments: [file])
    /plain First line
    /review Reviews: a file (arguments: [file] [depth])
    ");
    insta::assert_snapshot!(bench.diagnostics(), @"
    warning: ~/user/commands/review.md:2:21: `description` is taken as plain text: mapping values are not allowed in this context
    warning: ~/user/commands/review.md:3:23: `argument-hint` is taken as plain text: while parsing a block mapping, did not find expected key
    ");
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
    insta::assert_snapshot!(bench.commands(), @"
    /base base
    /local local
    /project project
    /same local
    /user user
    ");
    insta::assert_snapshot!(bench.diagnostics(), @"
    info: ~/base/commands/same.md: `~/user/commands/same.md` is used for `/same` instead
    info: ~/user/commands/same.md: `~/repo/.panto/commands/same.md` is used for `/same` instead
    info: ~/repo/.panto/commands/same.md: `~/repo/.panto/local/commands/same.md` is used for `/same` instead
    ");
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
    insta::assert_snapshot!(bench.commands(), @"
    /OK x
    /ok x
    ");
    insta::assert_snapshot!(bench.diagnostics(), @"
    warning: ~/user/commands/dangling.md: skipped: ENOENT: no such file or directory
    warning: ~/user/commands/ok.md: skipped: `~/user/commands/ok.MD` is `/ok` already
    warning: ~/user/commands/bad.md:1:1: skipped: UTF-16 text; save it as UTF-8
    warning: ~/user/commands/empty.md: skipped: the command has no text
    warning: ~/user/commands/open.md:1:1: skipped: the opening `---` is never closed
    warning: ~/user/commands/with space.md: no command `/with space`: bad argument 'name' to 'register_command' (not a name)
    ");
}

#[test]
fn a_command_is_read_when_it_is_used() {
    let world = World::new();
    world.file("user/commands/c.md", "one");
    let mut bench = world.activate("commands");
    world.file("user/commands/c.md", "two");
    assert_eq!(bench.command("c", ""), "two");
    std::fs::remove_file(world.path("user/commands/c.md")).unwrap();
    insta::assert_snapshot!(bench.command("c", ""), @"error: cannot read `~/user/commands/c.md`: ENOENT: no such file or directory");
}
