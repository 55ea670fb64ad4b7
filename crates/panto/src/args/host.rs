//! What commands that run extensions have in common.

use std::path::PathBuf;

use clap::Args;

/// Which extensions, skills and tools there are.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HostArgs {
    /// Trust the project for this run: its extensions, skills and settings count
    ///
    /// `panto trust` trusts it for good.
    #[arg(long, help_heading = HEADING)]
    pub(crate) trust: bool,

    /// Load no extensions: no tools, no skills, no commands, no rules of AGENTS.md
    #[arg(long, help_heading = HEADING)]
    pub(crate) no_extensions: bool,

    /// Take extensions, skills and configuration from this directory alone
    ///
    /// Nothing of the user's or the project's counts, and neither does what panto ships.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["no_extensions", "trust"], help_heading = HEADING)]
    pub(crate) bundle: Option<PathBuf>,

    /// Add a skill, or a directory of skills; may be given again
    #[arg(long = "skill", value_name = "PATH", help_heading = HEADING)]
    pub(crate) skills: Vec<PathBuf>,

    /// Load no skills but those of `--skill`
    #[arg(long, help_heading = HEADING)]
    pub(crate) no_skills: bool,

    /// Show the model these tools alone: names, separated by commas; none for none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) tools: Option<Vec<String>>,

    /// Do not show the model these tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) exclude_tools: Vec<String>,
}

const HEADING: &str = "Extensions and tools";

impl HostArgs {
    /// The first flag that was given, if one was.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.trust, "--trust"),
            (self.no_extensions, "--no-extensions"),
            (self.bundle.is_some(), "--bundle"),
            (!self.skills.is_empty(), "--skill"),
            (self.no_skills, "--no-skills"),
            (self.tools.is_some(), "--tools"),
            (!self.exclude_tools.is_empty(), "--exclude-tools"),
        ];
        let given = given.into_iter().find(|(given, _)| *given);
        given.map(|(_, name)| name)
    }
}
