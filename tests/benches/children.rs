//! What children cost: `cargo bench -p panto-host --bench children`. Figures, not assertions.
//!
//! Sessions lie in the system's temporary directory, and on `/dev/shm` where that is there.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a bench prints what it has measured"
)]

#[path = "../../crates/panto-host/tests/host/support.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "helpers of tests, of which a bench needs some"
)]
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pantograph::Role;
use pantograph_scripted::{Call, Fault, Script, Step};
use serde_json::json;

use support::{Desk, ask};

const ROUNDS: usize = 7;

/// A session with the rock, whose model hands out `children` tasks each time it is asked.
fn desk(dir: &Path, children: usize, bound: usize, child: Step) -> Desk {
    let mut hands_out = Step::new();
    for i in 0..children {
        let input = json!({ "agent": "general", "prompt": format!("Task {i}.") });
        hands_out = hands_out.then(Call::new("subagents.run", input));
    }
    let script = Script::new()
        .step(child.when_system("You are a child agent").repeated())
        .step(hands_out.when_last_role(Role::User).repeated())
        .step(Step::text("Done.").repeated());
    let desk = Desk::within(dir, script).file(
        "config/panto/config.toml",
        format!(
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
             [providers.test.models.model]\n[extensions.settings.subagents]\nconcurrency = {bound}\n"
        ),
    );
    let rocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rocks");
    symlink(rocks, desk.path("staged")).unwrap();
    desk
}

/// Says `go` that many times, and gives how long each took.
fn times(desk: &Desk, rounds: usize) -> Vec<Duration> {
    desk.run(async |_, mut live| {
        let mut times = Vec::new();
        // What is loaded once is loaded first.
        ask(&mut live, "go").await;
        for _ in 0..rounds {
            let begin = Instant::now();
            ask(&mut live, "go").await;
            times.push(begin.elapsed());
        }
        live.end().await;
        times.sort();
        times
    })
}

/// CPU time of this process, in clock ticks of 10 ms.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}

fn files_below(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let count = |path: PathBuf| if path.is_dir() { files_below(&path) } else { 1 };
    entries.map(|entry| count(entry.path())).sum()
}

fn turn_cost(name: &str, dir: &Path) {
    let desk = desk(dir, 16, 16, Step::text("Fine."));
    let (begin, turns) = (cpu(), 40);
    let took = times(&desk, turns);
    let cpu = (cpu() - begin).as_secs_f64() * 1e3 / (16 * (turns + 1)) as f64;
    let files = files_below(&desk.path("data/panto/sessions"));
    println!(
        "{name}: a child's turn, 16 at once: {cpu:.2} ms of CPU, {:.2} ms of time (best {:.2}), {:.2} files",
        took[took.len() / 2].as_secs_f64() * 1e3 / 16.0,
        took[0].as_secs_f64() * 1e3 / 16.0,
        (files - 1) as f64 / (16 * (turns + 1)) as f64,
    );
}

fn latency(name: &str, dir: &Path, children: usize, bound: usize) {
    let child = Step::text("Fine.").on_open(Duration::from_millis(500));
    let took = times(&desk(dir, children, bound, child), ROUNDS);
    let ideal = children.div_ceil(bound) as f64 * 0.5;
    let over = |time: Duration| (time.as_secs_f64() / ideal - 1.0) * 100.0;
    println!(
        "{name}: {children} children of 500 ms, {bound} at once: ideal {ideal:.1} s, best +{:.1} %, median +{:.1} %, worst +{:.1} %",
        over(took[0]),
        over(took[took.len() / 2]),
        over(took[took.len() - 1]),
    );
}

/// Live children, each waiting for its model.
fn memory(dir: &Path) {
    let most = 256;
    let desk = desk(dir, most, most, Step::text("Well.").then(Fault::Stall));
    desk.run(async |_, mut live| {
        // The first ones bring what is made once; the others take over what these have left.
        for which in ["at first", "once more"] {
            let before = resident();
            live.handle
                .submit(pantograph::Submission::follow_up("go"))
                .unwrap();
            let protocol = desk.protocol.clone();
            live.host
                .run_until(async {
                    protocol.wait_for_open_streams(most).await;
                    tokio::time::sleep(Duration::from_millis(300)).await;
                })
                .await;
            let each = (resident().saturating_sub(before)) / most as u64 / 1024;
            println!("live children beside their conversations of 4 messages, {most} {which}: {each} KB each");
            live.handle.interrupt();
            let handle = live.handle.clone();
            live.host
                .run_until(async move {
                    while handle.is_busy() {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                })
                .await;
        }
        live.end().await;
    });
}

fn main() {
    let disk = std::env::temp_dir();
    let mut places = vec![("disk", disk.as_path())];
    let memory_dir = Path::new("/dev/shm");
    if memory_dir.is_dir() {
        places.push(("memory", memory_dir));
    }
    memory(&disk);
    for (name, dir) in &places {
        turn_cost(name, dir);
        latency(name, dir, 16, 4);
        latency(name, dir, 64, 64);
    }
}
