//! What a fresh process pays for its first answer: itself, started again, asks once and counts.

use std::fs;
use std::process::Command;

use criterion::Criterion;
use pantograph::protocol::Request;
use pantograph_providers::HttpClient;

use crate::server::Server;
use crate::{Wire, ask, conversation};

/// What makes this program ask the URL that follows, and do nothing else.
const ASK: &str = "--ask-once";

/// The URL to ask, if that is what this process is for.
pub(crate) fn is_to_ask() -> Option<String> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == ASK).then(|| arguments.next())?
}

/// Asks once, and tells the parent what it cost.
#[expect(clippy::print_stdout, reason = "how a process tells its parent")]
pub(crate) fn ask_once(wire: &Wire, url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let protocol = (wire.connect)(url, HttpClient::new());
    let request: Request = conversation::of(1, 10);
    let deltas = runtime.block_on(ask(&*protocol, &request));
    println!("{deltas} {} {}", cpu_microseconds(), peak_kilobytes());
}

/// A process from its start to the end of its first answer.
pub(crate) fn fresh(criterion: &mut Criterion, wire: &Wire) {
    let server = Server::start(wire.answer.of_deltas(1), 1);
    let program = std::env::current_exe().unwrap();
    let mut costs: Vec<(u64, u64)> = Vec::new();
    criterion.bench_function("a fresh process that asks once", |bencher| {
        bencher.iter(|| {
            let output = Command::new(&program).args([ASK, &server.url()]).output();
            let said = String::from_utf8(output.unwrap().stdout).unwrap();
            let numbers: Vec<u64> = said.split_whitespace().flat_map(str::parse).collect();
            let [1, cpu, peak] = numbers[..] else {
                panic!("the process answered {said:?}");
            };
            costs.push((cpu, peak));
        });
    });
    costs.sort_unstable();
    if let Some((cpu, peak)) = costs.get(costs.len() / 2) {
        crate::report(format_args!("  {cpu} µs of CPU, {peak} KB at most"));
    }
}

/// What all threads of this process have run.
fn cpu_microseconds() -> u64 {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds: u64 = threads
        .map(|thread| {
            let schedule = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
            schedule.split(' ').next().unwrap().parse::<u64>().unwrap()
        })
        .sum();
    nanoseconds / 1_000
}

/// The most memory that this process has had.
fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}
