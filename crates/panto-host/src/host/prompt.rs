//! The system prompt of the session's agent: what the host says, then the sections that extensions
//! add, in an order that does not change by itself.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::Lua;
use panto_lua::{Args, Reply, values};

use super::shared::{Owner, Shared};

/// What the host says in the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFacts {
    /// How the agent is to work.
    pub base: String,
    /// The directory that it works in.
    pub cwd: PathBuf,
    /// The system, such as `linux`.
    pub os: &'static str,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// The branch that is checked out, if the directory lies in a git repository.
    pub git_branch: Option<String>,
}

/// A part of the prompt.
pub(super) struct Section {
    pub(super) owner: Owner,
    order: i64,
    text: String,
}

const DEFAULT_ORDER: i64 = 500;

/// `section(name, text, { order? })` sets a section of the system prompt; nil takes it away.
pub(super) fn section(shared: &Rc<Shared>, owner: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let argument = args.next("name");
    let name = argument.text()?;
    let text = args
        .next("text")
        .given()
        .map(|text| text.text())
        .transpose()?;
    let order = match args.next("options").given() {
        Some(options) => options.options(&["order"])?.given("order")?,
        None => None,
    };
    let order = order.map(|order| order.integer()).transpose()?;
    let owner = shared.acting(owner);
    let mut sections = shared.sections.borrow_mut();
    if let Some(other) = sections.get(&name).filter(|other| other.owner != owner) {
        return Err(argument.wrong(format_args!("the section is set by `{}`", other.owner)));
    }
    match text {
        Some(text) => {
            let order = order.unwrap_or(DEFAULT_ORDER);
            sections.insert(name, Section { owner, order, text });
        }
        None => {
            sections.remove(&name);
        }
    }
    drop(sections);
    shared.prompt_changed();
    values(lua, ())
}

impl Shared {
    /// Gives the session's agent its prompt as it is now, from its next request on.
    pub(super) fn prompt_changed(&self) {
        if !self.prompt_is_live.get() {
            return;
        }
        if let (Some(facts), Some(session)) = (&self.options.prompt, self.session()) {
            let text = compose(facts, &self.sections.borrow());
            session.agent().set_system_prompt(Some(text.into()));
        }
    }
}

/// What changes least stands first, so that providers' caches hit.
fn compose(facts: &PromptFacts, sections: &std::collections::BTreeMap<String, Section>) -> String {
    let mut text = facts.base.trim_end().to_owned();
    let mut ordered: Vec<_> = sections.iter().collect();
    ordered.sort_by_key(|(name, section)| (section.order, *name));
    for (_, section) in ordered {
        text.push_str("\n\n");
        text.push_str(section.text.trim());
    }
    text.push_str("\n\n");
    text.push_str(&environment(facts));
    text
}

fn environment(facts: &PromptFacts) -> String {
    let mut text = String::from("# Environment\n\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Working directory: {}", facts.cwd.display());
    let _ = writeln!(text, "Operating system: {}", facts.os);
    if let Some(branch) = &facts.git_branch {
        let _ = writeln!(text, "Git branch: {branch}");
    }
    let _ = write!(text, "Today: {}", facts.date);
    text
}

/// The branch that is checked out where `cwd` lies, without running git: its name, or the
/// beginning of the commit.
pub fn git_branch(cwd: &Path) -> Option<String> {
    let git = cwd
        .ancestors()
        .map(|dir| dir.join(".git"))
        .find(|git| git.exists())?;
    let dir = if git.is_dir() {
        git
    } else {
        // The file of a worktree names its directory.
        let text = read_regular(&git)?;
        git.parent()?.join(text.strip_prefix("gitdir:")?.trim())
    };
    let head = read_regular(&dir.join("HEAD"))?;
    let head = head.trim();
    let branch = match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None => head.get(..12)?.to_owned(),
    };
    let is_plain = !branch.is_empty() && !branch.chars().any(char::is_control);
    is_plain.then_some(branch)
}

fn read_regular(file: &Path) -> Option<String> {
    let is_file = fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| fs::read_to_string(file).ok()).flatten()
}
