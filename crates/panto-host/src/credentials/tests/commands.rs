//! Commands that print a key.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use rustix::process::{Pid, test_kill_process, test_kill_process_group};

use super::*;
use crate::config::{Layer, Place, Source, Sourced};

/// A provider whose key comes from `arguments`.
fn sources(arguments: &[&str]) -> KeySources {
    let mut settings = Home::new()
        .settings("base_url = \"http://127.0.0.1:1\"")
        .settings;
    let place = Place {
        file: Path::new("/c.toml").into(),
        line: 2,
        column: 1,
    };
    if let Some(settings) = &mut settings {
        settings.api_key_command = Some(Sourced {
            value: arguments.iter().map(|&text| text.to_owned()).collect(),
            source: Source::File {
                layer: Layer::User,
                place,
            },
        });
    }
    KeySources::new(&KeyRequest {
        provider: "p",
        settings: settings.as_ref(),
        well_known: &[],
        need: KeyNeed::Required,
        store: None,
        config_file: None,
        lookup: &|_| None,
    })
}

fn script(text: &str) -> KeySources {
    sources(&["sh", "-c", text])
}

async fn error_of(sources: KeySources) -> String {
    let error = sources.prepare().await.unwrap_err().to_string();
    let start = "no usable key from the command of `api_key_command` in /c.toml:2:1: ";
    error.strip_prefix(start).expect("the source").to_owned()
}

#[tokio::test]
async fn each_failure_is_a_sentence_of_its_own() {
    let directory = TempDir::new().unwrap();
    let plain = directory.path().join("plain");
    fs::write(&plain, "no program").unwrap();
    let path = plain.to_str().unwrap();
    let errors = [
        error_of(sources(&["panto-no-such-program", "argument"])).await,
        error_of(sources(&["pass show secret"])).await,
        error_of(sources(&["~/bin/key"])).await,
        error_of(sources(&["/no/such/key"])).await,
        error_of(sources(&[path])).await.replace(path, "/plain"),
        error_of(sources(&[])).await,
        error_of(script(
            "echo first >&2; echo 'not\u{1b}[2J unlocked' >&2; exit 3",
        ))
        .await,
        error_of(script("kill -9 $$")).await,
        error_of(script("exit 0")).await,
        error_of(script("echo ' '; echo 'nothing there' >&2")).await,
        error_of(script("echo; echo secret")).await,
        error_of(script("printf 'sk-\\377secret\\n'")).await,
        error_of(script("printf 'sk-\\001secret\\n'")).await,
        error_of(script("yes secret")).await,
        error_of(script(
            "echo secret-words; echo 'key secret-words is bad' >&2; exit 1",
        ))
        .await,
    ];
    insta::assert_snapshot!(errors.join("\n"), @"
    there is no program `panto-no-such-program`
    there is no program `pass …`; each argument is an item of its own in the list
    there is no program `~/bin/key`; `~` is for shells, and none is involved
    there is no program `/no/such/key`, or it names an interpreter that is not there
    `/plain` may not be executed
    it names no program
    `sh` failed with exit code 3; it says: not unlocked
    `sh` was ended by signal 9
    `sh` printed nothing
    `sh` printed nothing; it says: nothing there
    what `sh` printed in its first line is no key: it is empty
    what `sh` printed in its first line is no key: it has characters that no key has
    what `sh` printed in its first line is no key: it has control characters
    `sh` printed more than 64 KiB, which is no key
    `sh` failed with exit code 1; it says: key … is bad
    ");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_end_is_ended() {
    // The clock runs ahead as soon as there is nothing but the command to wait for.
    insta::assert_snapshot!(error_of(script("exec sleep 1000")).await, @"`sh` was ended since it had not come to an end after 60 s; it cannot ask for anything");
}

#[tokio::test]
async fn an_answer_is_kept_for_five_minutes_and_a_failure_is_not() {
    let directory = TempDir::new().unwrap();
    let runs = directory.path().join("runs");
    let text = format!(
        "echo >> {0}; [ $(wc -l < {0}) != 1 ] && echo key",
        runs.display()
    );
    let sources = script(&text);
    let count = || fs::read(&runs).unwrap().len();
    assert!(sources.key().await.is_err());
    assert!(sources.key().await.is_ok());
    assert!(sources.prepare().await.is_ok());
    assert_eq!(count(), 2);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(299)).await;
    assert!(sources.key().await.is_ok());
    assert_eq!(count(), 2);
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    assert!(sources.key().await.is_ok());
    assert_eq!(count(), 3);
}

/// A command that says that it runs, and then waits for a pipe to be opened.
struct Gate {
    directory: TempDir,
}

impl Gate {
    fn new() -> Self {
        let gate = Self {
            directory: TempDir::new().unwrap(),
        };
        for name in ["started", "go"] {
            let made = std::process::Command::new("mkfifo")
                .arg(gate.path(name))
                .status();
            assert!(made.unwrap().success());
        }
        gate
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// Leaves its process id and that of what it has started, and waits.
    fn sources(&self) -> Arc<KeySources> {
        Arc::new(script(&format!(
            "sleep 1000 & echo $$ $! > {}; read line < {}; kill $!; echo key",
            self.path("started"),
            self.path("go")
        )))
    }

    /// Waits until the command runs; gives its process id, and that of what it has started.
    async fn started(&self) -> Vec<Pid> {
        let path = self.path("started");
        let text = tokio::task::spawn_blocking(move || fs::read_to_string(path));
        let text = text.await.unwrap().unwrap();
        let ids = text.split_whitespace().map(|id| id.parse().unwrap());
        ids.map(|id| Pid::from_raw(id).unwrap()).collect()
    }

    fn open(&self) {
        fs::write(self.path("go"), "\n").unwrap();
    }
}

#[tokio::test]
async fn many_requests_run_it_once_and_one_that_is_cancelled_takes_nothing_from_the_others() {
    let gate = Gate::new();
    let sources = gate.sources();
    let mut asking: Vec<_> = (0..20).map(|_| Box::pin(sources.key())).collect();
    for request in &mut asking {
        assert!(poll!(request).is_pending());
    }
    // A second run would wait for ever to say that it has started.
    assert_eq!(gate.started().await.len(), 2);
    // The one that has started it.
    drop(asking.remove(0));
    let opened = tokio::task::spawn_blocking(move || gate.open());
    for answer in join_all(asking).await {
        assert!(answer.unwrap().is_some());
    }
    opened.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_dropped_kills_the_command_and_what_it_has_started() {
    let gate = Gate::new();
    let sources = gate.sources();
    let asking = tokio::spawn(async move { sources.key().await });
    let ids = gate.started().await;
    assert!(test_kill_process_group(ids[0]).is_ok());
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    // The system reports the end of a killed process a moment later; one that has not been
    // waited for would stay for ever.
    while is_there(ids[0]) || is_there(ids[1]) {
        tokio::task::yield_now().await;
    }
}

/// Whether the process is there; one that only waits to be reaped by another parent is not.
fn is_there(id: Pid) -> bool {
    if test_kill_process(id).is_err() {
        return false;
    }
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero()));
    let is_own = |stat: &str| {
        let rest = stat.rsplit(") ").next().unwrap_or_default();
        rest.split(' ').nth(1) == Some(&std::process::id().to_string())
    };
    stat.map_or(true, |stat| is_own(&stat) || !stat.contains(") Z "))
}
