//! How a host drives a sandbox: parking, resuming, given functions, futures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use panto_runtime::sandbox::{Given, Limits, Outcome, Reason, Request, Sandbox, Value};

use crate::support::{patient, sandbox};

fn asking() -> Sandbox {
    Sandbox::new(patient(), Given::new().parking("ctx.ask").parking("wait")).unwrap()
}

fn parked(function: &str, arguments: Vec<Value>) -> Outcome {
    Outcome::Parked(Request {
        function: function.to_owned(),
        arguments,
    })
}

#[test]
fn a_call_parks_and_returns_what_the_host_resumes_with() {
    let mut sandbox = asking();
    let source = "local a, b = ctx:ask('one') return b, a, wait()";
    let outcome = sandbox.run("chunk", source, vec![]).wait();
    assert_eq!(outcome, parked("ctx.ask", vec!["one".into()]));
    let outcome = sandbox.resume(vec![1.into(), 2.into()]).wait();
    assert_eq!(outcome, parked("wait", vec![]));
    let outcome = sandbox.resume(vec!["end".into()]).wait();
    assert_eq!(
        outcome,
        Outcome::Finished(vec![2.into(), 1.into(), "end".into()])
    );
}

#[test]
fn a_call_parks_wherever_it_is_made() {
    let source = "
        local function ask(n) return ctx.ask(n) end
        local log = {}
        table.sort({ 2, 1 }, function(a, b) log[#log + 1] = ask('sort') return a < b end)
        log[#log + 1] = ('x'):gsub('x', function() return ask('gsub') end)
        log[#log + 1] = tostring(setmetatable({}, { __tostring = function() return ask('tostring') end }))
        log[#log + 1] = setmetatable({}, { __index = function() return ask('index') end }).x
        log[#log + 1] = '1' + setmetatable({}, { __add = function() return ask('add') end })
        for v in function(_, last) if not last then return ask('for') end end do log[#log + 1] = v end
        for v in coroutine.wrap(function() coroutine.yield(ask('wrap')) end) do log[#log + 1] = v end
        log[#log + 1] = select(2, pcall(ask, 'pcall'))
        log[#log + 1] = select(2, xpcall(error, function() return ask('xpcall') end))
        do local c <close> = setmetatable({}, { __close = function() log[#log + 1] = ask('close') end }) end
        return table.concat(log, ' ')";
    let mut sandbox = asking();
    let mut outcome = sandbox.run("chunk", source, vec![]).wait();
    let mut asked = 0;
    while let Outcome::Parked(request) = outcome {
        asked += 1;
        outcome = sandbox.resume(request.arguments).wait();
    }
    assert_eq!(asked, 10);
    let everything = "sort gsub tostring index add for wrap pcall xpcall close";
    assert_eq!(outcome, Outcome::Finished(vec![everything.into()]));
}

#[test]
fn a_parked_call_can_raise() {
    let mut sandbox = asking();
    sandbox
        .run("chunk", "\nreturn pcall(function() ctx.ask() end)", vec![])
        .wait();
    let outcome = sandbox.raise("no answer").wait();
    let values = vec![false.into(), "chunk:2: no answer".into()];
    assert_eq!(outcome, Outcome::Finished(values));
}

#[test]
fn what_cannot_leave_is_an_error_at_the_call() {
    let mut sandbox = asking();
    let source = "\nreturn pcall(function() ctx.ask({ f = print or error }) end)";
    let outcome = sandbox.run("chunk", source, vec![]).wait();
    let message = "chunk:2: the value.f: a function cannot leave the sandbox";
    assert_eq!(
        outcome,
        Outcome::Finished(vec![false.into(), message.into()])
    );
}

#[test]
fn each_slice_has_its_own_budget() {
    let mut sandbox = Sandbox::new(patient(), Given::new().parking("rest")).unwrap();
    let source = "for i = 1, 20 do for j = 1, 200000 do end rest() end while true do end";
    let mut outcome = sandbox.run("chunk", source, vec![]).wait();
    for _ in 0..20 {
        assert_eq!(outcome, parked("rest", vec![]));
        outcome = sandbox.resume(vec![]).wait();
    }
    assert_eq!(outcome, Outcome::Killed(Reason::Instructions));
}

#[test]
fn immediate_functions_answer_or_raise() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let given = Given::new().immediate("host.add", move |arguments| {
        counted.fetch_add(1, Ordering::Relaxed);
        match arguments.as_slice() {
            [Value::Integer(a), Value::Integer(b)] => Ok(vec![(a + b).into()]),
            _ => Err("expected two integers".to_owned()),
        }
    });
    let mut sandbox = Sandbox::new(patient(), given).unwrap();
    let source =
        "return host.add(1, 2), host:add(3, 4), select(2, pcall(function() host.add('x') end))";
    let outcome = sandbox.run("chunk", source, vec![]).wait();
    let message = "chunk:1: expected two integers";
    assert_eq!(
        outcome,
        Outcome::Finished(vec![3.into(), 7.into(), message.into()])
    );
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[test]
fn time_that_the_host_takes_is_not_the_chunks() {
    let given = Given::new().immediate("slow", |_| {
        // Work of the host's, longer than what the chunk has.
        std::thread::sleep(Duration::from_millis(600));
        Ok(vec![])
    });
    let limits = Limits {
        time: Duration::from_millis(500),
        ..patient()
    };
    let mut sandbox = Sandbox::new(limits, given).unwrap();
    let outcome = sandbox.run("chunk", "slow() return 1", vec![]).wait();
    assert_eq!(outcome, Outcome::Finished(vec![1.into()]));
}

#[test]
fn chunks_share_the_globals_of_their_sandbox() {
    let mut sandbox = sandbox(patient());
    sandbox
        .run("first", "function double(n) return 2 * n end", vec![])
        .wait();
    let outcome = sandbox
        .run("failing", "double = double or error() error('x')", vec![])
        .wait();
    assert_eq!(outcome, Outcome::Failed("failing:1: x".to_owned()));
    let outcome = sandbox
        .run("second", "return double(...)", vec![21.into()])
        .wait();
    assert_eq!(outcome, Outcome::Finished(vec![42.into()]));
}

#[test]
fn what_makes_no_sense_fails_and_changes_nothing() {
    let mut sandbox = asking();
    let outcome = sandbox.resume(vec![]).wait();
    assert_eq!(
        outcome,
        Outcome::Failed("nothing is parked in this sandbox".to_owned())
    );
    sandbox.run("chunk", "return wait()", vec![]).wait();
    let outcome = sandbox.run("other", "return 1", vec![]).wait();
    assert_eq!(
        outcome,
        Outcome::Failed("another chunk is parked in this sandbox".to_owned())
    );
    let outcome = sandbox.resume(vec![5.into()]).wait();
    assert_eq!(outcome, Outcome::Finished(vec![5.into()]));
}

#[test]
fn a_killed_sandbox_stays_so() {
    let mut sandbox = sandbox(patient());
    let killed = Outcome::Killed(Reason::Instructions);
    assert_eq!(
        sandbox.run("chunk", "while true do end", vec![]).wait(),
        killed
    );
    assert_eq!(sandbox.run("chunk", "return 1", vec![]).wait(), killed);
    assert_eq!(sandbox.resume(vec![]).wait(), killed);
}

#[tokio::test]
async fn slices_are_futures() {
    let given = Given::new()
        .parking("rest")
        .immediate("one", |_| Ok(vec![1.into()]));
    let mut sandbox = Sandbox::new(patient(), given).unwrap();
    let outcome = sandbox.run("chunk", "rest(one()) return 2", vec![]).await;
    assert_eq!(outcome, parked("rest", vec![1.into()]));
    assert_eq!(
        sandbox.resume(vec![]).await,
        Outcome::Finished(vec![2.into()])
    );
}

#[tokio::test]
async fn many_sandboxes_work_while_one_thread_waits_for_all() {
    let outcomes = futures_util::future::join_all((0..16).map(|n| async move {
        let mut sandbox = sandbox(patient());
        sandbox
            .run("chunk", "local n = ... return n * n", vec![n.into()])
            .await
    }))
    .await;
    let squares: Vec<Outcome> = (0..16)
        .map(|n| Outcome::Finished(vec![(n * n).into()]))
        .collect();
    assert_eq!(outcomes, squares);
}

#[tokio::test]
async fn a_future_answers_when_its_time_is_up() {
    let limits = Limits {
        time: Duration::from_millis(50),
        instructions: u64::MAX,
        ..Limits::default()
    };
    let mut sandbox = sandbox(limits);
    let outcome = sandbox.run("chunk", "while true do end", vec![]).await;
    assert_eq!(outcome, Outcome::Killed(Reason::Time));
}

#[test]
fn a_slice_that_nobody_waits_for_ends_its_sandbox() {
    let mut sandbox = sandbox(patient());
    drop(sandbox.run("chunk", "return 1", vec![]));
    let outcome = sandbox.run("chunk", "return 1", vec![]).wait();
    assert_eq!(outcome, Outcome::Killed(Reason::Abandoned));
}

#[test]
fn a_panic_of_a_given_function_is_the_hosts() {
    let given = Given::new().immediate("broken", |_| panic!("broken"));
    let mut sandbox = Sandbox::new(patient(), given).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        sandbox
            .run("chunk", "pcall(broken) return 1", vec![])
            .wait()
    }));
    assert!(caught.is_err());
    let outcome = sandbox.run("chunk", "return 1", vec![]).wait();
    assert_eq!(outcome, Outcome::Killed(Reason::Abandoned));
}
