//! What a search of a tree costs, against `rg` on the same tree if it is installed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench may fail, and tells its figures"
)]

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use panto_kit::Stop;
use panto_kit::search::{Query, search};
use panto_kit::walk::{Bounds, Selection, walk};

const FOLDERS: usize = 200;
const FILES: usize = 40;
const LINES: usize = 200;

/// Patterns that find little and much, by a text and by an expression.
const PATTERNS: &[(&str, &str)] = &[
    ("rare text", "needle_in_the_stack"),
    ("rare expression", r"needle_\w+_stack\b"),
    ("frequent expression", r"fn \w+_7\("),
    ("nothing to hold on to", r"\w{5}\s+\w{5}\s+\w{5}xx"),
];

/// 8,000 files with 85 MB of text that looks like code; a tenth of them ignored.
fn tree(root: &Path) {
    std::fs::write(root.join(".gitignore"), "ignored/\n").unwrap();
    for folder in 0..FOLDERS {
        let name = if folder % 10 == 0 { "ignored" } else { "src" };
        let folder_path = root.join(format!("part{folder}/{name}"));
        std::fs::create_dir_all(&folder_path).unwrap();
        for file in 0..FILES {
            let mut text = String::new();
            for line in 0..LINES {
                text.push_str(&format!(
                    "    pub fn thing_{file}_{line}(&self) -> u64 {{ self.x + {line} }}\n"
                ));
            }
            if (folder * FILES + file) % 500 == 250 {
                text.push_str("let needle_in_the_stack = 1;\n");
            }
            std::fs::write(folder_path.join(format!("file{file}.rs")), text).unwrap();
        }
    }
}

/// The least of several runs, which other work on the machine disturbs least.
fn least(runs: usize, mut run: impl FnMut()) -> Duration {
    let times = (0..runs).map(|_| {
        let began = Instant::now();
        run();
        began.elapsed()
    });
    times.min().unwrap()
}

fn rg(root: &Path, pattern: &str) -> bool {
    let status = Command::new("rg")
        .args(["--no-config", "--no-require-git", "-n", "-e", pattern])
        .arg(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok()
}

fn query(pattern: &str) -> Query {
    Query {
        max_matches: 1_000_000,
        max_bytes: 256 * 1024 * 1024,
        ..Query::new(pattern)
    }
}

fn searches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    tree(root);
    let stop = Stop::default();
    let mut group = criterion.benchmark_group("search");
    group.sample_size(10);
    for (name, pattern) in PATTERNS {
        let query = query(pattern);
        group.bench_function(*name, |bencher| {
            bencher.iter(|| black_box(search(root, &query, &stop).unwrap()).matches);
        });
        let ours = least(10, || {
            black_box(search(root, &query, &stop).unwrap());
        });
        if rg(root, pattern) {
            let theirs = least(10, || {
                rg(root, pattern);
            });
            let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
            println!("{name}: {ours:.1?}, rg {theirs:.1?}, ratio {ratio:.2}");
        }
    }
    group.bench_function("walk", |bencher| {
        let selection = Selection::default();
        bencher.iter(|| {
            black_box(walk(root, &selection, None, Bounds::first(1000), &stop).unwrap()).total
        });
    });
    group.finish();
}

criterion_group!(benches, searches);
criterion_main!(benches);
