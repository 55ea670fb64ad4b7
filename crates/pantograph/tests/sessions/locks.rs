//! One writer a session.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use pantograph::session::{FileSystemJsonlStore, Holder, SessionError, SessionStore};

use crate::support::*;

/// Set for the process that holds a session: the store's directory.
const HOLD: &str = "PANTOGRAPH_TEST_HOLD";

#[tokio::test]
async fn a_session_is_open_once_in_a_process() {
    let (directory, store) = store();
    let created = session(&store, 1, 1).await;
    let Err(error) = store.open(id(1)).await else {
        panic!("opened twice");
    };
    // Not every system tells who holds a lock.
    let text = text(&error, directory.path());
    let expected = format!("session `{}` is in use by ", id(1));
    let holder = text.strip_prefix(&expected).unwrap();
    assert!(
        [
            "this process: an agent of it is still alive",
            "another process"
        ]
        .contains(&holder),
        "{holder}"
    );
    // Reading needs no lock.
    assert_eq!(branch(&store, 1).await, "u0 a0");
    drop(created);
    let open = store.open(id(1)).await.unwrap();
    assert!(store.open(id(1)).await.is_err());
    drop(open);
    store.open(id(1)).await.unwrap();
}

#[tokio::test]
async fn a_session_that_another_process_holds_is_refused() {
    if let Some(directory) = std::env::var_os(HOLD) {
        return hold(FileSystemJsonlStore::new(directory)).await;
    }
    let (_directory, store) = store();
    drop(session(&store, 1, 1).await);
    let name = "locks::a_session_that_another_process_holds_is_refused";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(HOLD, store.directory())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("holding") {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the holder ended");
    }
    let holder = store.holder(id(1)).await.unwrap();
    assert!(
        [Some(Holder::Process(child.id())), Some(Holder::Unknown)].contains(&holder),
        "{holder:?}"
    );
    match store.open(id(1)).await {
        Err(SessionError::InUse { holder, .. }) => {
            assert!(holder.is_none() || holder == Some(child.id()), "{holder:?}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("opened twice"),
    }
    // A killed process holds nothing.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(store.holder(id(1)).await.unwrap(), None);
    store.open(id(1)).await.unwrap();
}

/// Asking who has a session takes it from nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn asking_for_the_holder_disturbs_nobody() {
    let (_directory, store) = store();
    drop(session(&store, 1, 1).await);
    assert_eq!(store.holder(id(1)).await.unwrap(), None);
    let Err(SessionError::NotFound { .. }) = store.holder(id(2)).await else {
        panic!("a session that is not there has a holder");
    };
    // What an asker does for a moment where no list of locks tells.
    let asker = std::fs::File::open(store.path(id(1))).unwrap();
    asker.lock_shared().unwrap();
    let opening = tokio::spawn({
        let store = store.clone();
        async move { store.open(id(1)).await.map(drop) }
    });
    std::thread::sleep(std::time::Duration::from_millis(5));
    asker.unlock().unwrap();
    opening.await.unwrap().unwrap();
    // And it takes nothing from who has it.
    let open = store.open(id(1)).await.unwrap();
    assert!(store.holder(id(1)).await.unwrap().is_some());
    assert!(store.open(id(1)).await.is_err());
    drop(open);
}

#[expect(
    clippy::print_stdout,
    reason = "how the other process says that it is ready"
)]
async fn hold(store: FileSystemJsonlStore) {
    let _open = store.open(id(1)).await.unwrap();
    println!("holding");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[tokio::test]
async fn an_append_whose_future_was_dropped_still_holds_the_lock() {
    let (_directory, store) = store();
    let mut session = session(&store, 1, 1).await;
    {
        let mut append = session.append(exchange(1));
        let waker = std::task::Waker::noop();
        let _ = append
            .as_mut()
            .poll(&mut std::task::Context::from_waker(waker));
    }
    // The next append comes after the one that nobody waited for.
    session.append(exchange(2)).await.unwrap();
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1 u2 a2");
}
