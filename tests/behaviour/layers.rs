//! What each layer may know, as `docs/architecture.md` says it. `deny.toml` holds the same for
//! what comes in through other crates; here each manifest is read, tests apart from the rest.

use std::collections::BTreeSet;

use crate::repository::{folders, lines_where, text, texts_under};

/// One crate of the workspace, and what it may name in its manifest.
struct Layer {
    name: &'static str,
    /// The crates of the workspace that it stands on.
    stands_on: &'static [&'static str],
    /// The subjects that it may know something of.
    knows: &'static [Subject],
}

/// Something that only some layers know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Lua,
    Http,
    Terminal,
    Arguments,
    UntypedErrors,
    /// Where a user's files lie.
    Home,
    ConfigFiles,
}

/// From the bottom up.
const LAYERS: &[Layer] = &[
    Layer {
        name: "pantograph",
        stands_on: &[],
        knows: &[],
    },
    Layer {
        name: "pantograph-scripted",
        stands_on: &["pantograph"],
        knows: &[Subject::ConfigFiles],
    },
    Layer {
        name: "pantograph-providers",
        stands_on: &["pantograph"],
        knows: &[Subject::Http],
    },
    Layer {
        name: "panto-luv",
        stands_on: &[],
        knows: &[Subject::Lua],
    },
    Layer {
        name: "panto-text",
        stands_on: &[],
        knows: &[Subject::Terminal],
    },
    Layer {
        name: "panto-lua",
        stands_on: &["pantograph", "panto-text"],
        knows: &[Subject::Lua],
    },
    Layer {
        name: "panto-kit",
        stands_on: &["pantograph", "panto-lua"],
        knows: &[Subject::Lua, Subject::ConfigFiles],
    },
    Layer {
        name: "panto-runtime",
        stands_on: &["pantograph", "panto-lua", "panto-luv"],
        knows: &[Subject::Lua],
    },
    Layer {
        name: "panto-host",
        stands_on: &[
            "pantograph",
            "pantograph-scripted",
            "pantograph-providers",
            "panto-lua",
            "panto-luv",
            "panto-kit",
            "panto-runtime",
        ],
        knows: &[Subject::Home, Subject::ConfigFiles, Subject::Lua],
    },
    Layer {
        name: "panto",
        stands_on: &[
            "pantograph",
            "pantograph-scripted",
            "pantograph-providers",
            "panto-runtime",
            "panto-host",
        ],
        knows: &[
            Subject::Arguments,
            Subject::UntypedErrors,
            Subject::Home,
            Subject::ConfigFiles,
        ],
    },
];

/// Every layer's tests may play a script.
const FOR_TESTS: &str = "pantograph-scripted";

/// What an outside crate is about; `None` if any layer may know it.
fn subject_of(dependency: &str) -> Option<Subject> {
    Some(match dependency {
        "mlua" | "mlua-sys" | "lua-src" | "piccolo" => Subject::Lua,
        "reqwest" | "hyper" | "hyper-util" | "http" | "http-body-util" | "sse-stream" | "ureq"
        | "url" | "rustls" => Subject::Http,
        "termina" | "crossterm" | "ratatui" | "termion" | "unicode-width" | "anstyle-parse" => {
            Subject::Terminal
        }
        "clap" | "clap_complete" | "lexopt" => Subject::Arguments,
        "anyhow" | "eyre" | "color-eyre" => Subject::UntypedErrors,
        "etcetera" | "dirs" | "directories" => Subject::Home,
        "toml" | "toml_edit" | "serde-saphyr" | "serde_yaml" => Subject::ConfigFiles,
        _ => return None,
    })
}

/// What a manifest names: for the crate itself, and for its tests only.
struct Manifest {
    dependencies: BTreeSet<String>,
    dev_dependencies: BTreeSet<String>,
}

fn manifest(layer: &str) -> Manifest {
    let table = toml_file(&format!("crates/{layer}/Cargo.toml"));
    let names = |kinds: &[&str]| {
        // Dependencies of one platform stand in tables of their own.
        let platforms = table
            .get("target")
            .and_then(toml::Value::as_table)
            .into_iter()
            .flat_map(|targets| targets.values().filter_map(toml::Value::as_table));
        std::iter::once(&table)
            .chain(platforms)
            .flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()))
            .flat_map(package_names)
            .collect()
    };
    Manifest {
        dependencies: names(&["dependencies", "build-dependencies"]),
        dev_dependencies: names(&["dev-dependencies"]),
    }
}

/// The packages behind a table of dependencies, which it or the workspace may give other names.
fn package_names(dependencies: &toml::Table) -> Vec<String> {
    let shared = toml_file("Cargo.toml");
    dependencies
        .iter()
        .map(|(key, value)| {
            let entry = match value.get("workspace") {
                Some(_) => &shared["workspace"]["dependencies"][key],
                None => value,
            };
            entry
                .get("package")
                .and_then(toml::Value::as_str)
                .unwrap_or(key)
                .to_owned()
        })
        .collect()
}

fn toml_file(path: &str) -> toml::Table {
    text(path).parse().expect("a manifest is TOML")
}

#[test]
fn every_crate_is_a_layer_that_is_described_here() {
    let described: BTreeSet<String> = LAYERS.iter().map(|layer| layer.name.to_owned()).collect();
    assert_eq!(described, folders("crates"));
}

#[test]
fn arrows_only_run_down() {
    for (height, layer) in LAYERS.iter().enumerate() {
        for below in layer.stands_on {
            assert!(
                LAYERS[..height].iter().any(|other| other.name == *below),
                "`{}` stands on `{below}`, which is not below it",
                layer.name
            );
        }
    }
}

#[test]
fn manifests_name_only_the_layers_that_they_stand_on() {
    let workspace = folders("crates");
    let mut wrong = Vec::new();
    for layer in LAYERS {
        let manifest = manifest(layer.name);
        let own = manifest.dependencies.iter();
        let tests = manifest.dev_dependencies.iter();
        wrong.extend(
            own.chain(tests.filter(|name| *name != FOR_TESTS))
                .filter(|name| workspace.contains(*name))
                .filter(|name| !layer.stands_on.contains(&name.as_str()))
                .map(|name| format!("{} depends on {name}", layer.name)),
        );
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn layers_know_only_their_subjects() {
    let mut wrong = Vec::new();
    for layer in LAYERS {
        wrong.extend(
            manifest(layer.name)
                .dependencies
                .iter()
                .filter_map(|name| Some((name, subject_of(name)?)))
                .filter(|(_, subject)| !layer.knows.contains(subject))
                .map(|(name, subject)| format!("{} knows {subject:?}: {name}", layer.name)),
        );
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn only_the_binary_reads_the_environment_and_the_working_directory() {
    let doors = ["std::env", "env::var", "current_dir(", "home_dir("];
    for layer in LAYERS.iter().filter(|layer| layer.name != "panto") {
        let sources = texts_under(&format!("crates/{}/src", layer.name));
        let wrong = lines_where(&sources, |line| {
            let is_comment = line.trim_start().starts_with("//");
            // The method sets the folder of a child.
            let line = line.replace(".current_dir(", "");
            !is_comment && doors.iter().any(|door| line.contains(door))
        });
        assert_eq!(wrong, [""; 0]);
    }
}

#[test]
fn few_modules_do_what_the_compiler_cannot_check() {
    let mut allowing = Vec::new();
    for layer in LAYERS {
        let sources = texts_under(&format!("crates/{}/src", layer.name));
        allowing.extend(lines_where(&sources, |line| line.contains("unsafe_code")));
    }
    let files: Vec<&str> = allowing
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    let known = [
        "crates/panto-luv/src/raw.rs",
        "crates/panto-lua/src/job/wake.rs",
        "crates/panto-runtime/src/frame.rs",
        "crates/panto-runtime/src/raw.rs",
        "crates/panto-runtime/src/standalone/raw.rs",
    ];
    assert_eq!(files, known);
}

#[test]
fn no_crate_knows_delegation() {
    // In two parts, so that this file could stand under `crates/` itself.
    let word = ["sub", "agent"].concat();
    let naming = lines_where(&texts_under("crates"), |line| {
        line.to_lowercase().contains(&word)
    });
    // One line may embed the rock.
    let embedding = format!("rocks/{word}");
    let allowed = naming.len() <= 1 && naming.iter().all(|line| line.contains(&embedding));
    assert!(allowed, "{naming:#?}");
}
