//! `panto session doctor`: what is wrong with a session's file, and what to do about it.

use pantograph::SessionId;
use pantograph::session::{FileSystemJsonlStore, doctor};

use crate::failure::{Exit, Failure};
use crate::streams;

/// Examines a session's file; repairs it if that is asked for.
///
/// # Errors
///
/// Problems that are still there: a script can tell by the exit code.
pub(super) fn examine(
    store: &FileSystemJsonlStore,
    id: SessionId,
    repair: bool,
) -> Result<(), Failure> {
    let path = store.path(id);
    let report = if repair {
        doctor::repair(&path)?
    } else {
        doctor::examine(&path)?
    };
    streams::print_text(&text(&report))?;
    if report.problems.is_empty() || report.kept.is_some() {
        return Ok(());
    }
    let count = report.problems.len();
    let problems = if count == 1 { "problem" } else { "problems" };
    Err(Failure::new(
        Exit::Usage,
        "session",
        anyhow::anyhow!("session `{id}` has {count} {problems}"),
    )
    .with_hint(format!(
        "`panto session doctor {id} --repair` repairs the file and keeps the old one beside it"
    )))
}

fn text(report: &doctor::Report) -> String {
    let mut text = format!(
        "{}\n{} records can be read\n",
        report.path.display(),
        report.records
    );
    for problem in &report.problems {
        text.push_str(&format!(
            "line {}, column {}: {}\n  repair: {}\n",
            problem.line, problem.column, problem.what, problem.repair
        ));
    }
    match &report.kept {
        Some(kept) => text.push_str(&format!("repaired; the old file is {}\n", kept.display())),
        None if report.problems.is_empty() => text.push_str("nothing is wrong\n"),
        None => {}
    }
    text
}
