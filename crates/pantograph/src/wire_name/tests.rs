use proptest::collection::btree_set;
use proptest::prelude::*;

use super::*;

/// Each name with its wire name.
fn show(wires: &WireNames, names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("{name} = {}\n", wires.encode(name)))
        .collect()
}

#[test]
fn dots_become_underscores() {
    let names = ["now", "files.read", "a.b.c", "-x"];
    let wires = WireNames::new(names);
    insta::assert_snapshot!(show(&wires, &names), @"
    now = now
    files.read = files__read
    a.b.c = a__b__c
    -x = -x
    ");
    assert_eq!(wires.decode("files__read"), Some("files.read"));
    assert_eq!(wires.decode("files.read"), Some("files.read"));
    assert_eq!(wires.decode("files__write"), None);
}

#[test]
fn a_legal_name_is_never_changed_by_another() {
    let names = ["files.read", "files__read"];
    let wires = WireNames::new(names);
    insta::assert_snapshot!(show(&wires, &names), @"
    files.read = files__read_7a8655d8b0
    files__read = files__read
    ");
}

#[test]
fn names_that_would_be_the_same_are_told_apart() {
    let names = ["a..b", "a.__b", "a.b"];
    let wires = WireNames::new(names);
    insta::assert_snapshot!(show(&wires, &names), @"
    a..b = a____b_e4a249bdd6
    a.__b = a____b_d6ae9e9555
    a.b = a__b
    ");
}

#[test]
fn long_names_are_cut() {
    let long = format!("files.{}", "x".repeat(58));
    let names = [long.as_str(), &long[..63], &long[..62]];
    let wires = WireNames::new(names);
    insta::assert_snapshot!(show(&wires, &names), @"
    files.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx = files__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_54d69a1dd7
    files.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx = files__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    files.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx = files__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    ");
}

#[test]
fn a_tool_that_looks_like_a_hashed_name_keeps_its_own() {
    let taken = hashed("files read", 0);
    let wires = WireNames::new(["files read", &taken]);
    assert_eq!(wires.encode(&taken), taken);
    assert_eq!(wires.encode("files read"), hashed("files read", 1));
}

#[test]
fn the_history_does_not_change_the_tools() {
    let wires = WireNames::new(["files.read"]).with_history(["files__read", "old.tool"]);
    insta::assert_snapshot!(
        show(&wires, &["files.read", "files__read", "old.tool", "", "no such\ntool"]),
        @"
    files.read = files__read
    files__read = files__read_87922ca776
    old.tool = old__tool
     = _af5570f5a1
    no such
    tool = no_such_tool_b70dfeba88
    "
    );
    assert_eq!(wires.decode("files__read"), Some("files.read"));
    assert_eq!(wires.decode("old__tool"), Some("old.tool"));
}

/// Names that collide often, names of every length, and any text.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab._]{0,5}",
        "[a-zA-Z0-9_.-]{1,70}",
        "[a.]{55,66}",
        any::<String>()
    ]
}

fn names<'a>(set: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    set.into_iter().map(String::as_str).collect()
}

proptest! {
    #[test]
    fn names_are_legal_distinct_and_come_back(
        tools in btree_set(any_name(), 0..40),
        history in btree_set(any_name(), 0..40),
    ) {
        let wires = WireNames::new(names(&tools)).with_history(names(&history));
        let all: BTreeSet<&String> = tools.union(&history).collect();
        let mut seen = HashSet::new();
        for name in all {
            let wire = wires.encode(name).into_owned();
            prop_assert!(is_legal(&wire), "{}", wire);
            prop_assert_eq!(wires.decode(&wire), Some(name.as_str()));
            prop_assert!(seen.insert(wire));
        }
    }

    #[test]
    fn order_does_not_matter(tools in proptest::collection::vec(any_name(), 0..20)) {
        let wires = WireNames::new(names(&tools));
        let reversed = WireNames::new(names(tools.iter().rev()));
        prop_assert_eq!(wires.by_name, reversed.by_name);
    }

    #[test]
    fn a_name_without_collision_keeps_its_wire_name(
        tools in btree_set(any_name(), 1..20),
        others in btree_set(any_name(), 0..20),
    ) {
        let alone = WireNames::new(names(&tools));
        let together = WireNames::new(names(tools.union(&others)));
        let taken: HashSet<String> =
            others.difference(&tools).map(|name| name.replace('.', "__")).collect();
        for name in &tools {
            if is_legal(name) || !taken.contains(&name.replace('.', "__")) {
                prop_assert_eq!(alone.encode(name), together.encode(name));
            }
        }
    }

    #[test]
    fn a_name_that_was_not_given_meets_no_tool(
        tools in btree_set(any_name(), 0..20),
        name in any_name(),
    ) {
        prop_assume!(!tools.contains(&name));
        let wires = WireNames::new(names(&tools));
        let wire = wires.encode(&name);
        prop_assert!(is_legal(&wire));
        prop_assert!(!wires.by_wire.contains_key(&*wire));
    }
}
