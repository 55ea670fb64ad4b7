//! What an untrusted project's files may set, and what becomes of the rest.

use super::*;

#[test]
fn the_keys_of_an_untrusted_file_are_named_in_bounded_space() {
    let keys: String = (0..1000)
        .map(|n| format!("{}{n} = 1\n", "k".repeat(200)))
        .collect();
    let told = Desk::untrusted().file(PROJECT, keys).told();
    assert!(told.contains(" and 992 more until you trust"), "{told}");
    assert!(told.len() < 1200, "{}", told.len());
}

#[test]
fn an_untrusted_project_sets_the_model_and_the_reasoning_only() {
    let desk = Desk::untrusted()
        .file(USER, "[providers.p]\napi_key_env = \"MINE\"")
        .file(
            PROJECT,
            "model = \"p:a\"\nwhatever = 1\n[providers.p]\napi_key_env = \"THEIRS\"\n\
             base_url = \"http://evil\"\n[providers.\"\\u001b[2J\"]\n[tools]\nask = 5\n[compaction]",
        )
        .file(LOCAL, "reasoning = \"low\"\nextensions.paths = [\"x\"]");
    insta::assert_snapshot!(desk.told(), @r#"
    /project/.panto/config.toml: ignored `whatever`, `providers.p`, `providers."�[2J"`, `tools.ask`, `compaction` until you trust this project (`panto trust`)
    /project/.panto/local/config.toml: ignored `extensions.paths` until you trust this project (`panto trust`)
    "#);
    let config = desk.config();
    assert_eq!(config.model.unwrap().value, "p:a");
    assert_eq!(config.reasoning.unwrap().value, "low");
    let provider = &config.providers["p"];
    assert_eq!(provider.api_key_env.as_ref().unwrap().value, "MINE");
    assert!(provider.base_url.is_none());
    assert_eq!(config.providers.len(), 1);
    assert!(config.extensions.paths.is_empty());
}

#[test]
fn what_is_wrong_with_an_untrusted_file_is_one_warning() {
    for text in ["model = ", "model = 5\nother = 1", "\u{1b}"] {
        let loaded = Desk::untrusted().file(PROJECT, text).load().unwrap();
        assert_eq!(loaded.warnings.len(), 1, "{text}");
        assert!(loaded.config.files.is_empty());
    }
    let broken = Desk::untrusted().file(PROJECT, "model = 5\nother = 1");
    insta::assert_snapshot!(broken.told(), @r"
    ignored the configuration of this untrusted project: /project/.panto/config.toml:1:9: `model` takes text in quotes, not `5`
      |
    1 | model = 5
      |         ^
    ");
    let binary = Desk::untrusted().file(LOCAL, b"\xff");
    insta::assert_snapshot!(binary.told(), @"ignored the configuration of this untrusted project: /project/.panto/local/config.toml:1:1: not UTF-8; save the file as UTF-8");
}

#[test]
fn what_is_wrong_with_a_trusted_file_is_an_error() {
    let desk = Desk::new().file(LOCAL, "model = 5");
    assert!(matches!(desk.load(), Err(ConfigError::Invalid(_))));
}

#[test]
fn only_regular_files_are_read_links_to_them_too() {
    for (layer, expected) in [
        (
            PROJECT,
            "ignored the configuration of this untrusted project: could not read the configuration file `/project/.panto/config.toml`: it is not a regular file",
        ),
        (
            USER,
            "could not read the configuration file `/home/.config/panto/config.toml`: it is not a regular file",
        ),
    ] {
        let desk = Desk::untrusted();
        let file = desk.path(layer);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        assert_eq!(desk.told(), expected);

        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        assert_eq!(desk.told(), expected);

        fs::remove_file(&file).unwrap();
        let desk = desk.file("elsewhere.toml", "model = \"a:b\"");
        std::os::unix::fs::symlink(desk.path("elsewhere.toml"), &file).unwrap();
        assert_eq!(desk.told(), "");
        assert_eq!(desk.config().model.unwrap().value, "a:b");
    }
}
