//! What the README promises. Its Rust example is a doctest of `pantograph-scripted`.

use std::collections::BTreeSet;
use std::fs;

use crate::repository::{lines_where, root, text, texts_under};
use crate::support::Machine;

/// The lines of the README's code blocks in `language`.
fn code(language: &str) -> Vec<String> {
    let readme = text("README.md");
    let mut inside = false;
    let mut lines = Vec::new();
    for line in readme.lines() {
        if let Some(info) = line.strip_prefix("```") {
            inside = info == language;
        } else if inside {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The README's code blocks in `language`.
fn blocks(language: &str) -> Vec<String> {
    let readme = text("README.md");
    let fence = format!("```{language}\n");
    let after = readme.split(&fence).skip(1);
    after
        .filter_map(|rest| rest.split("```").next())
        .map(str::to_owned)
        .collect()
}

/// Where the README's links to files of the repository go.
fn linked_files() -> BTreeSet<String> {
    let readme = text("README.md");
    readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn its_two_commands_are_what_ci_runs() {
    let commands = code("sh");
    assert_eq!(
        commands,
        ["cargo run --release -- demo", "cargo test --workspace"]
    );
    let ci = text(".ci/run");
    for command in commands {
        let is_run = ci
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
            .any(|line| line.starts_with(&command) || line.contains(&format!(" {command} ")));
        assert!(is_run, "`.ci/run` does not run `{command}`");
    }
}

#[test]
fn its_example_has_about_ten_lines() {
    let lines = code("rust").iter().filter(|line| !line.is_empty()).count();
    assert!((8..=14).contains(&lines), "{lines} lines");
}

#[test]
fn its_configuration_and_its_script_answer() {
    let files = blocks("toml");
    let [config, script] = &files[..2] else {
        panic!("{files:?}");
    };
    let machine = Machine::without_config();
    machine.write_config(config);
    machine.write_script(script);
    assert_eq!(machine.run(&["-p", "hello"]).answer(), "Hello to you.\n");
}

#[test]
fn its_links_lead_somewhere() {
    let missing: Vec<String> = linked_files()
        .into_iter()
        .filter(|path| !root().join(path).exists())
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn it_leads_to_every_page_of_the_documentation() {
    let pages: BTreeSet<String> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    let linked = linked_files();
    let unlinked: Vec<&String> = pages.difference(&linked).collect();
    assert_eq!(unlinked, [""; 0], "pages that README.md does not link");
}

#[test]
fn no_file_names_a_registry_host_or_a_place_on_one_machine() {
    // In parts, so that this file is not one of them.
    let hosts = [
        ["crates", ".io"],
        ["registry.npmjs", ".org"],
        ["pypi", ".org"],
        ["files.pythonhosted", ".org"],
        ["deb.debian", ".org"],
        ["luarocks", ".org"],
        ["proxy.golang", ".org"],
    ];
    let places = [
        ["/root", "/"],
        ["/Users", "/"],
        ["/work", "/"],
        ["/tmp", "/wt"],
        [".cargo", "/registry"],
    ];
    let texts: Vec<(String, String)> = texts_under(".")
        .into_iter()
        .filter(|(path, _)| path != "Cargo.lock")
        .collect();
    let wrong = lines_where(&texts, |line| {
        hosts.iter().any(|host| line.contains(&host.concat()))
            || places
                .iter()
                .any(|place| names_place(line, &place.concat()))
    });
    assert_eq!(wrong, [""; 0]);
}

/// Whether `line` has `place` at the beginning of a path, and not inside one.
fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-}/".contains(before))
    })
}
