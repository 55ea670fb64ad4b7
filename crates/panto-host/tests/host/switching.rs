//! Going over to another session: a new one, an old one, another branch of the same.

use panto_host::compose::Target;
use pantograph::SessionId;
use pantograph_scripted::Script;

use crate::support::{Desk, ask, log_of};

fn desk() -> Desk {
    let script = Script::new()
        .step("One.")
        .step("Two.")
        .step("Three.")
        .step("Four.");
    let desk = Desk::new(script);
    let log = desk.path("log").display().to_string();
    desk.extension(
        "counts",
        &format!(
            "COUNT = (COUNT or 0) + 1\n\
             local function write(text) local f = io.open('{log}', 'a') f:write(text, ' ', COUNT, '\\n') f:close() end\n\
             write('activate')\n\
             panto.ext.on('session_end', function() write('end') end)\n\
             panto.ext.on('session_ready', function() write('ready') end)\n\
             HANDLE = panto.ext.agent"
        ),
    )
}

#[test]
fn a_new_session_has_a_new_lua_state_and_the_old_one_can_be_resumed() {
    let desk = desk();
    desk.run(async |composer, mut live| {
        let first = live.handle.agent().session_id();
        ask(&mut live, "first").await;
        // Whoever still has the old handle keeps nothing locked.
        let _old = live.handle.clone();
        let mut live = live.switch(composer, Target::New).await.ok().unwrap();
        assert_ne!(live.handle.agent().session_id(), first);
        assert!(live.handle.agent().conversation().is_empty());
        ask(&mut live, "second").await;

        let mut live = live
            .switch(composer, Target::Resume(first))
            .await
            .ok()
            .unwrap();
        let transcript = live.handle.agent().conversation().transcript();
        assert!(transcript.contains("One.") && !transcript.contains("Two."));
        ask(&mut live, "third").await;
        live.end().await;
    });
    insta::assert_snapshot!(log_of(&desk.path("log")), @r"
    activate 1
    ready 1
    end 1
    activate 1
    ready 1
    end 1
    activate 1
    ready 1
    end 1
    ");
}

#[test]
fn a_session_that_cannot_be_had_leaves_the_old_one_as_it_was() {
    let desk = desk();
    desk.run(async |composer, mut live| {
        ask(&mut live, "first").await;
        let nowhere = SessionId::parse("00000000-0000-7000-8000-000000000000").unwrap();
        let failed = live
            .switch(composer, Target::Resume(nowhere))
            .await
            .err()
            .unwrap();
        assert!(
            failed.error.to_string().contains("no session"),
            "{}",
            failed.error
        );
        let mut live = failed.session.unwrap();
        let (run, _) = ask(&mut live, "second").await;
        assert_eq!(run.turns, 1);
        let failed = live
            .switch(composer, Target::Tree(uuid::Uuid::nil().into()))
            .await;
        let failed = failed.err().unwrap();
        assert!(
            failed.error.to_string().contains("no message"),
            "{}",
            failed.error
        );
        failed.session.unwrap().end().await;
    });
}

#[test]
fn another_branch_goes_on_from_an_earlier_message() {
    let desk = desk();
    desk.run(async |composer, mut live| {
        ask(&mut live, "first").await;
        let id = live.handle.agent().session_id();
        let first = live
            .handle
            .agent()
            .conversation()
            .last()
            .unwrap()
            .id
            .clone();
        ask(&mut live, "second").await;
        let mut live = live
            .switch(composer, Target::Tree(first))
            .await
            .ok()
            .unwrap();
        assert_eq!(live.handle.agent().session_id(), id);
        let transcript = live.handle.agent().conversation().transcript();
        assert!(
            transcript.contains("One.") && !transcript.contains("Two."),
            "{transcript}"
        );
        ask(&mut live, "third").await;
        live.end().await;
        let store = composer.store().unwrap();
        let tree = pantograph::session::SessionStore::load(&store, id)
            .await
            .unwrap();
        assert_eq!(tree.messages().count(), 6);
        let transcript = tree.conversation().transcript();
        assert!(transcript.contains("Three.") && !transcript.contains("Two."));
    });
}
