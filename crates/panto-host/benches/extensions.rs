//! What extensions cost a session: at its start, and when they are called at once.

#[path = "../tests/host/support.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "helpers of tests, of which a bench needs some"
)]
mod support;

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use pantograph_scripted::{Call, Script, Step};
use serde_json::json;

use support::{Desk, ask, start};

/// A session with fifty extensions: each registers a tool and a command, and listens.
fn fifty(criterion: &mut Criterion) {
    let mut desk = Desk::silent();
    for i in 0..50 {
        desk = desk.extension(
            &format!("e{i:02}"),
            &format!(
                "local schema = {{ type = 'object', properties = {{ a = {{ type = 'string' }} }} }}\n\
                 panto.ext.register_tool {{ name = 'tool_{i}', description = 'd', schema = schema, handler = function() return 'x' end }}\n\
                 panto.ext.register_command {{ name = 'command-{i}', description = 'd', handler = function() end }}\n\
                 panto.ext.on('turn_start', function() end)"
            ),
        );
    }
    let none = Desk::silent();
    for (name, desk) in [("start/50 extensions", &desk), ("start/none", &none)] {
        criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                desk.run(async |composer, live| {
                    live.end().await;
                    let mut total = Duration::ZERO;
                    for _ in 0..times {
                        let begin = Instant::now();
                        let live = start(composer).await;
                        total += begin.elapsed();
                        live.end().await;
                    }
                    total
                })
            });
        });
    }
}

/// Turns with calls that each wait 20 ms in the loop: sixteen at once take as long as one.
fn at_once(criterion: &mut Criterion) {
    for calls in [1, 16] {
        criterion.bench_function(&format!("turn/{calls} calls that wait 20 ms"), |bencher| {
            bencher.iter_custom(|times| {
                let mut script = Script::new();
                for _ in 0..times {
                    let calls = (0..calls).fold(Step::new(), |step, _| {
                        step.then(Call::new("wait", json!({})))
                    });
                    script = script.step(calls).step("Done.");
                }
                let desk = Desk::new(script).extension(
                    "wait",
                    "local uv = require('luv')\n\
                     panto.ext.register_tool { name = 'wait', description = 'd', schema = { type = 'object' }, handler = function()\n\
                       local co, timer = coroutine.running(), uv.new_timer()\n\
                       timer:start(20, 0, function() timer:close() coroutine.resume(co) end)\n\
                       coroutine.yield()\n\
                       return 'waited'\n\
                     end }",
                );
                desk.run(async |_, mut live| {
                    let begin = Instant::now();
                    for _ in 0..times {
                        ask(&mut live, "go").await;
                    }
                    let total = begin.elapsed();
                    live.end().await;
                    total
                })
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = fifty, at_once
}
criterion_main!(benches);
