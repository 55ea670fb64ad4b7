//! Which source gives the key.

use super::*;

#[tokio::test]
async fn the_first_well_known_variable_that_is_set_gives_the_key() {
    let both = Home::new()
        .variable("B", b"secret-b")
        .variable("A", b"secret-a");
    insta::assert_snapshot!(both.stored("secret-f").told().await, @"
    find: the environment variable A
    key: from the environment variable A
    ");
    let second = Home::new().variable("A", b" \n").variable("B", b"secret-b");
    insta::assert_snapshot!(second.told().await, @"
    find: the environment variable B
    key: from the environment variable B
    ");
}

#[tokio::test]
async fn the_credential_file_comes_after_them() {
    let home = Home::new().variable("A", b"").stored("secret-f");
    insta::assert_snapshot!(home.told().await, @"
    find: the credential file `HOME/auth/credentials.json`
    key: from the credential file `HOME/auth/credentials.json`
    ");
}

#[tokio::test]
async fn a_missing_key_names_each_place_and_each_way() {
    let home = Home::new().variable("B", b"");
    insta::assert_snapshot!(home.told().await, @"
    find: nothing
    error: no key for `p`: looked at the environment variable A (not set), the environment variable B (empty), the credential file `HOME/auth/credentials.json` (does not exist)
    hint: set one with `export A=…` or `panto login p`, or name another source with `api_key_env` or `api_key_command` under `[providers.p]` in `/home/ada/.config/panto/config.toml`
    key: error: no usable key from the environment variable A, the environment variable B, the credential file `HOME/auth/credentials.json`: there is none
    ");
    let other = KeyText::parse("secret").unwrap();
    home.store().set("q", &other).unwrap();
    insta::assert_snapshot!(home.told().await, @"
    find: nothing
    error: no key for `p`: looked at the environment variable A (not set), the environment variable B (empty), the credential file `HOME/auth/credentials.json` (no entry)
    hint: set one with `export A=…` or `panto login p`, or name another source with `api_key_env` or `api_key_command` under `[providers.p]` in `/home/ada/.config/panto/config.toml`
    key: error: no usable key from the environment variable A, the environment variable B, the credential file `HOME/auth/credentials.json`: there is none
    ");
}

#[tokio::test]
async fn a_variable_of_the_configuration_stands_for_the_well_known_ones() {
    let home = || {
        Home::new()
            .settings("api_key_env = \"MINE\"")
            .variable("A", b"secret-a")
    };
    insta::assert_snapshot!(home().variable("MINE", b"secret-m").told().await, @"
    find: the environment variable MINE of `api_key_env` in HOME/config.toml:2:1
    key: from the environment variable MINE of `api_key_env` in HOME/config.toml:2:1
    ");
    // The account that a well-known variable belongs to may be another one.
    insta::assert_snapshot!(home().told().await, @"
    find: nothing
    error: no key for `p`: looked at the environment variable MINE of `api_key_env` in HOME/config.toml:2:1 (not set), the credential file `HOME/auth/credentials.json` (does not exist)
    hint: set one with `export MINE=…` or `panto login p`, or name another source with `api_key_env` or `api_key_command` under `[providers.p]` in `/home/ada/.config/panto/config.toml`
    key: error: no usable key from the environment variable MINE of `api_key_env` in HOME/config.toml:2:1, the credential file `HOME/auth/credentials.json`: there is none
    ");
    // What was stored under the provider's own name is meant for it.
    insta::assert_snapshot!(home().stored("secret-f").told().await, @"
    find: the credential file `HOME/auth/credentials.json`
    warning: MINE, which `api_key_env` names (HOME/config.toml:2:1), is not set; the stored key is used
    key: from the credential file `HOME/auth/credentials.json`
    ");
}

#[tokio::test]
async fn a_command_of_the_configuration_is_all_that_counts() {
    let home = |script: &str| {
        Home::new()
            .settings(&format!("api_key_command = [\"sh\", \"-c\", \"{script}\"]"))
            .variable("A", b"secret-a")
            .stored("secret-f")
    };
    insta::assert_snapshot!(home("echo secret-c").told().await, @"
    find: the command of `api_key_command` in HOME/config.toml:2:1
    key: from the command of `api_key_command` in HOME/config.toml:2:1
    ");
    insta::assert_snapshot!(home("exit 3").told().await, @"
    find: the command of `api_key_command` in HOME/config.toml:2:1
    error: no usable key from the command of `api_key_command` in HOME/config.toml:2:1: `sh` failed with exit code 3
    key: error: no usable key from the command of `api_key_command` in HOME/config.toml:2:1: `sh` failed with exit code 3
    ");
}

#[tokio::test]
async fn the_path_of_a_command_starts_at_the_configuration_file() {
    let home = Home::new().settings("api_key_command = [\"./keys/mine\"]");
    insta::assert_snapshot!(home.told().await, @"
    find: the command of `api_key_command` in HOME/config.toml:2:1
    error: no usable key from the command of `api_key_command` in HOME/config.toml:2:1: there is no program `HOME/./keys/mine`, or it names an interpreter that is not there
    key: error: no usable key from the command of `api_key_command` in HOME/config.toml:2:1: there is no program `HOME/./keys/mine`, or it names an interpreter that is not there
    ");
    let program = home.path().join("keys/mine");
    std::fs::create_dir(home.path().join("keys")).unwrap();
    std::os::unix::fs::symlink("/bin/pwd", program).unwrap();
    assert!(home.sources().key().await.is_ok());
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key_and_gets_one_that_is_there() {
    let home = || Home::new().settings("base_url = \"http://127.0.0.1:1\"");
    insta::assert_snapshot!(home().told().await, @"
    find: nothing
    key: none
    ");
    insta::assert_snapshot!(home().stored("secret-f").told().await, @"
    find: the credential file `HOME/auth/credentials.json`
    key: from the credential file `HOME/auth/credentials.json`
    ");
    let named = Home::new().settings("base_url = \"http://127.0.0.1:1\"\napi_key_env = \"MINE\"");
    insta::assert_snapshot!(named.told().await, @"
    find: nothing
    error: no key for `p`: looked at the environment variable MINE of `api_key_env` in HOME/config.toml:3:1 (not set), the credential file `HOME/auth/credentials.json` (does not exist)
    hint: set one with `export MINE=…` or `panto login p`, or name another source with `api_key_env` or `api_key_command` under `[providers.p]` in `/home/ada/.config/panto/config.toml`
    key: error: no usable key from the environment variable MINE of `api_key_env` in HOME/config.toml:3:1, the credential file `HOME/auth/credentials.json`: there is none
    ");
}

#[tokio::test]
async fn a_variable_that_no_header_can_hold_is_said_without_its_value() {
    for value in [
        &b"sk-\xffsecret"[..],
        b"sk-\nsecret",
        "sk-secr\u{e9}t".as_bytes(),
    ] {
        let home = Home::new().variable("A", value).variable("B", b"secret-b");
        let told = home.told().await;
        assert!(!told.contains("sk-"), "{told}");
        assert!(
            told.starts_with(
                "find: error: no usable key from the environment variable A: it has c"
            ),
            "{told}"
        );
    }
    let home = Home::new().variable("A", b"sk-\nsecret");
    insta::assert_snapshot!(home.told().await, @"
    find: error: no usable key from the environment variable A: it has control characters
    error: no usable key from the environment variable A: it has control characters
    key: error: no usable key from the environment variable A: it has control characters
    ");
}

#[tokio::test]
async fn a_broken_credential_file_counts_only_if_it_comes_to_it() {
    let broken = |home: Home| {
        std::fs::create_dir(home.path().join("auth")).unwrap();
        std::fs::write(
            home.store().path(),
            "{\"providers\": {\"p\": {\"key\": secret",
        )
        .unwrap();
        home
    };
    insta::assert_snapshot!(broken(Home::new()).told().await, @"
    find: error: no usable key from the credential file `HOME/auth/credentials.json`: line 1, column 29: expected value
    error: no usable key from the credential file `HOME/auth/credentials.json`: line 1, column 29: expected value
    key: error: no usable key from the credential file `HOME/auth/credentials.json`: line 1, column 29: expected value
    ");
    let sources = broken(Home::new().variable("A", b"secret-a")).sources();
    assert!(sources.prepare().await.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn a_key_that_changes_in_the_file_is_seen_by_the_next_request() {
    let home = Home::new();
    let sources = home.sources();
    assert!(sources.key().await.is_err());
    let home = home.stored("secret-f");
    assert!(sources.key().await.unwrap().is_some());
    home.store().remove("p").unwrap();
    assert!(sources.key().await.is_err());
}

#[tokio::test]
async fn without_a_home_there_is_no_file_to_look_at() {
    let sources = KeySources::new(&KeyRequest {
        provider: "p",
        settings: None,
        well_known: &[],
        need: KeyNeed::Required,
        store: None,
        config_file: None,
        lookup: &|_| None,
    });
    let error = sources.prepare().await.unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.hint().unwrap()), @"
    no key for `p`: there is no place to look for one
    name a source with `api_key_env` or `api_key_command` under `[providers.p]` in the configuration
    ");
    let error: CredentialsError = sources.key().await.unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"no usable key from any source: there is none");
}
