//! The credential file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::thread;

use super::*;

fn key(text: &str) -> KeyText {
    KeyText::parse(text).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The file's name with what is beside it.
fn names(store: &CredentialStore) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(store.path().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_key_is_stored_for_its_owner_alone() {
    let home = Home::new();
    let store = home.store();
    assert!(!store.read().unwrap().exists());
    assert_eq!(store.set("p", &key("one")).unwrap(), Stored::Added);
    assert_eq!(store.set("p", &key("two")).unwrap(), Stored::Replaced);
    assert_eq!(store.set("p", &key("two")).unwrap(), Stored::Unchanged);
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(store.path().parent().unwrap()), 0o700);
    assert_eq!(names(&store), [".lock", "credentials.json"]);
    assert_eq!(mode(&store.path().with_file_name(".lock")), 0o600);
    insta::assert_snapshot!(fs::read_to_string(store.path()).unwrap(), @r#"
    {
      "version": 1,
      "providers": {
        "p": {
          "key": "two"
        }
      }
    }
    "#);
    let contents = store.read().unwrap();
    assert_eq!(contents.key("p").unwrap().unwrap().expose(), "two");
    assert!(contents.key("q").unwrap().is_none());
    assert!(contents.exposed().is_none());
    assert!(!format!("{contents:?}").contains("two"));
}

#[test]
fn a_removed_key_is_gone_from_the_disk() {
    let home = Home::new();
    let store = home.store();
    assert_eq!(store.remove("p").unwrap(), Removed::Absent(vec![]));
    // Nothing is made only to find nothing in it.
    assert!(!store.path().parent().unwrap().exists());
    store.set("p", &key("secret")).unwrap();
    store.set("q", &key("other")).unwrap();
    // What a login that was killed has left.
    let left = store.path().with_file_name(".credentials.json.new");
    fs::write(&left, "secret").unwrap();
    assert_eq!(store.remove("p").unwrap(), Removed::Removed);
    assert_eq!(
        store.remove("p").unwrap(),
        Removed::Absent(vec!["q".to_owned()])
    );
    assert_eq!(names(&store), [".lock", "credentials.json"]);
    assert!(!fs::read_to_string(store.path()).unwrap().contains("secret"));
}

#[test]
fn a_file_that_others_can_read_is_used_with_a_warning_and_mended_by_the_next_write() {
    let home = Home::new();
    let store = home.store();
    store.set("p", &key("one")).unwrap();
    fs::set_permissions(store.path(), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(
        store.path().parent().unwrap(),
        Permissions::from_mode(0o755),
    )
    .unwrap();
    let contents = store.read().unwrap();
    let warning = contents.exposed().unwrap().to_string();
    insta::assert_snapshot!(warning.replace(home.path().to_str().unwrap(), "HOME"), @"others can read the credential file `HOME/auth/credentials.json` (mode 0644): chmod 600 HOME/auth/credentials.json");
    assert!(contents.key("p").unwrap().is_some());
    assert_eq!(store.set("p", &key("one")).unwrap(), Stored::Unchanged);
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(store.path().parent().unwrap()), 0o700);
}

#[test]
fn many_logins_at_once_keep_each_others_keys() {
    let home = Home::new();
    let names: Vec<String> = (0..16).map(|number| format!("p{number:02}")).collect();
    thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| home.store().set(name, &key(name)).unwrap());
        }
    });
    let contents = home.store().read().unwrap();
    assert_eq!(contents.providers(), names);
    for name in &names {
        assert_eq!(contents.key(name).unwrap().unwrap().expose(), name);
    }
}

#[test]
fn readers_see_the_old_file_or_the_new_one() {
    let home = Home::new();
    let store = home.store();
    let keys = ["a".repeat(3000), "b".repeat(8000)];
    store.set("p", &key(&keys[0])).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..50 {
                store.set("p", &key(&keys[round % 2])).unwrap();
            }
        });
        while !writer.is_finished() {
            let read = store.read().unwrap().key("p").unwrap().unwrap();
            assert!(keys.iter().any(|key| key == read.expose()));
        }
    });
}

/// What reading, setting and removing say of what stands in the file's place.
fn told(home: &Home) -> String {
    let store = home.store();
    let with_cause = |error: StoreError| match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    let texts = [
        store.read().err().map(with_cause),
        store.set("q", &key("new")).err().map(with_cause),
        store.remove("p").err().map(with_cause),
    ];
    let texts: Vec<String> = texts
        .into_iter()
        .map(|text| text.unwrap_or_else(|| "fine".to_owned()))
        .collect();
    texts
        .join("\n")
        .replace(home.path().to_str().unwrap(), "HOME")
}

/// A home with something in the credential file's place.
fn with(make: impl FnOnce(PathBuf)) -> Home {
    let home = Home::new();
    let path = home.store().path().to_owned();
    fs::create_dir(path.parent().unwrap()).unwrap();
    make(path);
    home
}

#[test]
fn what_is_broken_is_said_and_never_overwritten() {
    let broken = "{\n  \"providers\": {\"p\": {\"key\": \"secret\"}";
    let home = with(|path| fs::write(path, broken).unwrap());
    insta::assert_snapshot!(told(&home), @"
    the credential file is broken: HOME/auth/credentials.json:2:38: EOF while parsing an object
    the credential file is broken: HOME/auth/credentials.json:2:38: EOF while parsing an object
    the credential file is broken: HOME/auth/credentials.json:2:38: EOF while parsing an object
    ");
    assert_eq!(fs::read_to_string(home.store().path()).unwrap(), broken);
    let newer = "{\"version\": 2, \"providers\": []}";
    let home = with(|path| fs::write(path, newer).unwrap());
    insta::assert_snapshot!(told(&home), @"
    the credential file `HOME/auth/credentials.json` is of version 2, which this panto does not know; use a newer one
    the credential file `HOME/auth/credentials.json` is of version 2, which this panto does not know; use a newer one
    the credential file `HOME/auth/credentials.json` is of version 2, which this panto does not know; use a newer one
    ");
    assert_eq!(fs::read_to_string(home.store().path()).unwrap(), newer);
    let home = with(|path| fs::write(path, vec![b' '; (1 << 20) + 1]).unwrap());
    insta::assert_snapshot!(told(&home), @"
    the credential file `HOME/auth/credentials.json` is larger than 1024 KiB; something else is in it
    the credential file `HOME/auth/credentials.json` is larger than 1024 KiB; something else is in it
    the credential file `HOME/auth/credentials.json` is larger than 1024 KiB; something else is in it
    ");
}

#[test]
fn what_is_no_file_is_said_without_waiting_for_it() {
    let home = with(|path| fs::create_dir(path).unwrap());
    insta::assert_snapshot!(told(&home), @"
    the credential file `HOME/auth/credentials.json` is a directory, not a file
    the credential file `HOME/auth/credentials.json` is a directory, not a file
    the credential file `HOME/auth/credentials.json` is a directory, not a file
    ");
    let home = with(|path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    });
    insta::assert_snapshot!(told(&home), @"
    the credential file `HOME/auth/credentials.json` is a pipe, not a file
    the credential file `HOME/auth/credentials.json` is a pipe, not a file
    the credential file `HOME/auth/credentials.json` is a pipe, not a file
    ");
    let home = with(|path| symlink("/dev/null", path).unwrap());
    insta::assert_snapshot!(told(&home), @"
    the credential file `HOME/auth/credentials.json` is a device, not a file
    the credential file `HOME/auth/credentials.json` is a device, not a file
    the credential file `HOME/auth/credentials.json` is a device, not a file
    ");
    let home = with(|path| symlink("nowhere", path).unwrap());
    insta::assert_snapshot!(told(&home), @"
    the credential file `HOME/auth/credentials.json` is a link to `nowhere`, which does not exist
    the credential file `HOME/auth/credentials.json` is a link to `nowhere`, which does not exist
    the credential file `HOME/auth/credentials.json` is a link to `nowhere`, which does not exist
    ");
    let home = with(|path| symlink("credentials.json", path).unwrap());
    insta::assert_snapshot!(told(&home), @"
    could not read `HOME/auth/credentials.json`: Too many levels of symbolic links (os error 40)
    could not read `HOME/auth/credentials.json`: Too many levels of symbolic links (os error 40)
    could not read `HOME/auth/credentials.json`: Too many levels of symbolic links (os error 40)
    ");
    // A file in the place of the directory.
    let home = Home::new();
    fs::write(home.path().join("auth"), "").unwrap();
    insta::assert_snapshot!(told(&home), @"
    could not read `HOME/auth/credentials.json`: Not a directory (os error 20)
    could not create the directory `HOME/auth`: File exists (os error 17)
    could not read `HOME/auth/credentials.json`: Not a directory (os error 20)
    ");
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let elsewhere = TempDir::new().unwrap();
    let real = elsewhere.path().join("mine.json");
    fs::write(&real, "{\"providers\": {\"q\": {\"key\": \"other\"}}}").unwrap();
    fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
    let home = with(|path| symlink(&real, path).unwrap());
    assert_eq!(home.store().set("p", &key("one")).unwrap(), Stored::Added);
    assert!(home.store().path().is_symlink());
    assert_eq!(mode(&real), 0o600);
    let contents = CredentialStore::at(real).read().unwrap();
    assert_eq!(contents.providers(), ["p", "q"]);
}

#[test]
fn a_store_lies_in_the_data_home() {
    let environment = Environment {
        xdg_data_home: Some("/data".into()),
        ..Environment::default()
    };
    let store = CredentialStore::new(&Dirs::new(&environment)).unwrap();
    assert_eq!(store.path(), Path::new("/data/panto/auth/credentials.json"));
    assert!(CredentialStore::new(&Dirs::new(&Environment::default())).is_err());
}
