//! `docs/configuration.md` says what the code does: its reference is generated from the table
//! of settings, and its examples load.

use std::path::{Path, PathBuf};

use panto_host::config::{Setting, settings as known};
use panto_host::credentials::{CredentialStore, KeyText};
use panto_host::dirs::VARIABLES;
use panto_host::models::{UNLISTED_CONTEXT_WINDOW, UNLISTED_MAX_OUTPUT};
use panto_host::{Config, Dirs, Environment, LoadConfig};
use pantograph_providers::catalog;

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md")
}

/// The page with the parts between its markers written anew.
fn regenerated(text: &str) -> String {
    let text = replace_part(text, "settings", &settings());
    let text = replace_part(&text, "catalog", &catalog());
    replace_part(&text, "variables", &variables())
}

fn replace_part(text: &str, name: &str, new: &str) -> String {
    let begin = format!("<!-- {name}: generated -->\n");
    let end = format!("<!-- {name}: end -->");
    let (before, rest) = text.split_once(&begin).expect("the page has the marker");
    let (_, after) = rest.split_once(&end).expect("the page has the end marker");
    format!("{before}{begin}\n{new}\n{end}{after}")
}

fn settings() -> String {
    let mut page = String::new();
    let mut group = None;
    for setting in known() {
        let (table, _) = setting.key.rsplit_once('.').unwrap_or(("", setting.key));
        if group != Some(table) {
            if group.is_some() {
                page.push('\n');
            }
            let heading = match table {
                "" => "Top level".to_owned(),
                table => format!("`[{table}]`"),
            };
            let columns = "| key | takes | default | example | meaning |\n|---|---|---|---|---|";
            page += &format!("### {heading}\n\n{columns}\n");
            group = Some(table);
        }
        page += &row(setting);
    }
    page
}

fn row(setting: &Setting) -> String {
    format!(
        "| `{}` | {} | {} | `{}` | {} |\n",
        setting.key,
        setting.kind.expected(),
        setting.default,
        setting.example,
        setting.doc
    )
}

fn catalog() -> String {
    let mut page = String::from(
        "| provider | protocol | place | server | key | default model |\n|---|---|---|---|---|---|\n",
    );
    let quoted = |text: &str| format!("`{text}`");
    let or_none = |text: Option<&str>| text.map_or("none".to_owned(), quoted);
    for provider in catalog::providers() {
        let keys: Vec<_> = provider
            .key_variables
            .iter()
            .map(|key| quoted(key))
            .collect();
        page += &format!(
            "| `{}` | `{}` | `{}` | {} | {} | {} |\n",
            provider.name,
            provider.protocol,
            provider.base_url,
            or_none(provider.server),
            if keys.is_empty() {
                "none".to_owned()
            } else {
                keys.join(", ")
            },
            or_none(provider.default_model),
        );
    }
    page
}

fn variables() -> String {
    let mut page = String::from("| variable | meaning |\n|---|---|\n");
    for variable in VARIABLES {
        page += &format!("| `{}` | {} |\n", variable.name, variable.doc);
    }
    page
}

#[test]
fn the_reference_is_the_one_in_the_code() {
    let text = std::fs::read_to_string(page()).unwrap();
    let expected = regenerated(&text);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page(), expected).unwrap();
    } else {
        assert!(
            text == expected,
            "docs/configuration.md is out of date: \
             UPDATE_DOCS=1 cargo test -p panto-host --test configuration_page"
        );
    }
}

#[test]
fn the_examples_load_without_a_warning() {
    let text = std::fs::read_to_string(page()).unwrap();
    let examples: Vec<_> = text
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(examples.len() >= 3);
    for example in examples {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("config.toml");
        std::fs::write(&file, example).unwrap();
        let loaded = Config::load(&LoadConfig {
            dirs: &Dirs::new(&Environment::default()),
            project_root: base.path().to_owned(),
            explicit: Some(file),
            trusted: false,
            bundle: None,
        });
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{example}"));
        assert_eq!(loaded.warnings, [], "{example}");
    }
}

#[test]
fn the_credential_file_is_as_shown() {
    let text = std::fs::read_to_string(page()).unwrap();
    let (_, rest) = text.split_once("```json\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let base = tempfile::tempdir().unwrap();
    let store = CredentialStore::at(base.path().join("credentials.json"));
    let key = KeyText::parse("sk-example").unwrap();
    store.set("anthropic", &key).unwrap();
    assert_eq!(std::fs::read_to_string(store.path()).unwrap(), example);
}

#[test]
fn the_limits_of_an_unlisted_model_are_the_ones_in_force() {
    let text = std::fs::read_to_string(page()).unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let limits = format!(
        "a context window of {UNLISTED_CONTEXT_WINDOW} tokens, answers of at most \
         {UNLISTED_MAX_OUTPUT},"
    );
    assert!(words.contains(&limits), "{limits}");
}
