//! Where panto's files lie: the XDG directories, the sessions, the project.
//!
//! The same rules on every system; source: XDG Base Directory Specification 0.8.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pantograph::session::directory_name;

/// What panto reads of its process, as a plain value.
///
/// The program makes one at start; tests write theirs by hand. Nothing else in this crate looks
/// at the process. An empty variable counts as unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// `HOME`.
    pub home: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<OsString>,
    /// `XDG_DATA_HOME`.
    pub xdg_data_home: Option<OsString>,
    /// `PANTO_SESSION_DIR`.
    pub session_dir: Option<OsString>,
}

/// One environment variable that panto reads, as the reference page lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub doc: &'static str,
}

/// Every environment variable that [`Environment::read`] asks for.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "HOME",
        doc: "The home directory; the two XDG directories default to places below it.",
    },
    Variable {
        name: "XDG_CONFIG_HOME",
        doc: "Where configuration lies; `$HOME/.config` if unset or relative.",
    },
    Variable {
        name: "XDG_DATA_HOME",
        doc: "Where data lies; `$HOME/.local/share` if unset or relative.",
    },
    Variable {
        name: "PANTO_SESSION_DIR",
        doc: "Where sessions are kept, instead of `panto/sessions` in the data directory; a \
              relative path starts at the working directory.",
    },
];

impl Environment {
    /// Takes the variables of [`VARIABLES`] from `lookup`, which answers as
    /// [`std::env::var_os`] does.
    pub fn read(cwd: PathBuf, lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        Self {
            cwd,
            home: lookup("HOME"),
            xdg_config_home: lookup("XDG_CONFIG_HOME"),
            xdg_data_home: lookup("XDG_DATA_HOME"),
            session_dir: lookup("PANTO_SESSION_DIR"),
        }
    }
}

/// A directory was needed that lies in the home directory, and there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell where to {purpose}: `HOME` is not set; set `HOME`, or {instead}")]
pub struct NoHome {
    purpose: &'static str,
    instead: &'static str,
}

/// The directories of one process, computed once; nothing is created or looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    cwd: PathBuf,
    config_home: Option<PathBuf>,
    data_home: Option<PathBuf>,
    session_base: Option<PathBuf>,
}

impl Dirs {
    /// Computes the directories that `environment` asks for.
    pub fn new(environment: &Environment) -> Self {
        let home = absolute(environment.home.as_ref());
        let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let config = absolute(environment.xdg_config_home.as_ref());
        let data = absolute(environment.xdg_data_home.as_ref());
        let data_home = data
            .or_else(|| below_home(".local/share"))
            .map(|base| base.join("panto"));
        Self {
            cwd: environment.cwd.clone(),
            config_home: config
                .or_else(|| below_home(".config"))
                .map(|base| base.join("panto")),
            session_base: set(environment.session_dir.as_ref())
                .map(|dir| environment.cwd.join(dir))
                .or_else(|| data_home.as_ref().map(|home| home.join("sessions"))),
            data_home,
        }
    }

    /// The same, but without configuration of the user's.
    pub fn without_config(self) -> Self {
        Self {
            config_home: None,
            ..self
        }
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Where the user's configuration lies: `${XDG_CONFIG_HOME:-~/.config}/panto`.
    ///
    /// # Errors
    ///
    /// [`NoHome`] if neither variable gives an absolute path.
    pub fn config_home(&self) -> Result<&Path, NoHome> {
        self.config_home.as_deref().ok_or(NoHome {
            purpose: "look for your configuration",
            instead: "`XDG_CONFIG_HOME`",
        })
    }

    /// Where panto keeps its data: `${XDG_DATA_HOME:-~/.local/share}/panto`.
    ///
    /// # Errors
    ///
    /// [`NoHome`] if neither variable gives an absolute path.
    pub fn data_home(&self) -> Result<&Path, NoHome> {
        self.data_home.as_deref().ok_or(NoHome {
            purpose: "keep data",
            instead: "`XDG_DATA_HOME`",
        })
    }

    /// Below which every working directory has its sessions: `PANTO_SESSION_DIR`, else
    /// `sessions` in the data home.
    ///
    /// # Errors
    ///
    /// [`NoHome`] if no variable gives a path.
    pub fn session_base(&self) -> Result<&Path, NoHome> {
        self.session_base.as_deref().ok_or(NoHome {
            purpose: "keep sessions",
            instead: "`PANTO_SESSION_DIR`, or go without with `--no-session`",
        })
    }

    /// Where the sessions of the working directory `cwd` lie.
    ///
    /// # Errors
    ///
    /// As [`Dirs::session_base`].
    pub fn session_directory(&self, cwd: &Path) -> Result<PathBuf, NoHome> {
        Ok(self.session_base()?.join(directory_name(cwd)))
    }
}

/// The root of the project that `cwd` belongs to.
///
/// The nearest directory with a `.panto` directory from `cwd` up to the git root, else the git
/// root, else `cwd`. The git root is the nearest directory with a `.git` (a directory, or the
/// file of a worktree). Without one only `cwd` is looked at, so that nothing above a directory
/// that belongs to no repository configures it. A directory that cannot be read has neither.
pub fn project_root(cwd: &Path) -> PathBuf {
    let Some(git_root) = cwd.ancestors().find(|dir| dir.join(".git").exists()) else {
        return cwd.to_owned();
    };
    cwd.ancestors()
        .take_while(|dir| dir.starts_with(git_root))
        .find(|dir| dir.join(".panto").is_dir())
        .unwrap_or(git_root)
        .to_owned()
}

/// The variable's value, unless it is empty.
fn set(value: Option<&OsString>) -> Option<&OsString> {
    value.filter(|value| !value.is_empty())
}

/// The variable's value as a path; the specification has relative ones ignored.
fn absolute(value: Option<&OsString>) -> Option<PathBuf> {
    set(value)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::read(PathBuf::from("/home/ada/project"), |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    fn render(variables: &[(&str, &str)]) -> String {
        let dirs = Dirs::new(&environment(variables));
        let line = |name: &str, result: Result<&Path, NoHome>| match result {
            Ok(path) => format!("{name}: {}\n", path.display()),
            Err(error) => format!("{name}: error: {error}\n"),
        };
        [
            line("config", dirs.config_home()),
            line("data", dirs.data_home()),
            line("sessions", dirs.session_base()),
        ]
        .concat()
    }

    #[test]
    fn everything_lies_below_home_by_default() {
        insta::assert_snapshot!(render(&[("HOME", "/home/ada")]), @r"
        config: /home/ada/.config/panto
        data: /home/ada/.local/share/panto
        sessions: /home/ada/.local/share/panto/sessions
        ");
    }

    #[test]
    fn the_variables_move_it() {
        let variables = [
            ("HOME", "/home/ada"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_DATA_HOME", "/d"),
            ("PANTO_SESSION_DIR", "/s"),
        ];
        insta::assert_snapshot!(render(&variables), @r"
        config: /c/panto
        data: /d/panto
        sessions: /s
        ");
    }

    #[test]
    fn empty_and_relative_xdg_variables_are_ignored() {
        let variables = [
            ("HOME", "/home/ada"),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_DATA_HOME", "relative"),
            ("PANTO_SESSION_DIR", "mine"),
        ];
        insta::assert_snapshot!(render(&variables), @r"
        config: /home/ada/.config/panto
        data: /home/ada/.local/share/panto
        sessions: /home/ada/project/mine
        ");
    }

    #[test]
    fn without_a_home_only_what_needs_it_fails() {
        insta::assert_snapshot!(render(&[("HOME", "")]), @r"
        config: error: cannot tell where to look for your configuration: `HOME` is not set; set `HOME`, or `XDG_CONFIG_HOME`
        data: error: cannot tell where to keep data: `HOME` is not set; set `HOME`, or `XDG_DATA_HOME`
        sessions: error: cannot tell where to keep sessions: `HOME` is not set; set `HOME`, or `PANTO_SESSION_DIR`, or go without with `--no-session`
        ");
        insta::assert_snapshot!(render(&[("XDG_DATA_HOME", "/d")]), @r"
        config: error: cannot tell where to look for your configuration: `HOME` is not set; set `HOME`, or `XDG_CONFIG_HOME`
        data: /d/panto
        sessions: /d/panto/sessions
        ");
    }

    #[test]
    fn configuration_can_be_left_out() {
        let dirs = Dirs::new(&environment(&[("HOME", "/home/ada")])).without_config();
        assert!(dirs.config_home().is_err());
        let base = Path::new("/home/ada/.local/share/panto/sessions");
        assert_eq!(dirs.session_base(), Ok(base));
    }

    #[test]
    fn sessions_of_a_directory_lie_below_the_base() {
        let dirs = Dirs::new(&environment(&[("PANTO_SESSION_DIR", "/s")]));
        let directory = dirs.session_directory(Path::new("/a/b"));
        assert_eq!(directory, Ok(PathBuf::from("/s/+a+b")));
    }

    #[test]
    fn the_variables_that_are_read_are_the_documented_ones() {
        let asked = std::cell::RefCell::new(Vec::new());
        let _ = Environment::read(PathBuf::new(), |name| {
            asked.borrow_mut().push(name.to_owned());
            None
        });
        let documented: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
        assert_eq!(asked.into_inner(), documented);
    }

    #[test]
    fn the_project_root_is_the_nearest_panto_directory_inside_the_repository() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path();
        let make = |path: &str| fs::create_dir_all(base.join(path)).unwrap();
        let root = |cwd: &str| {
            let root = project_root(&base.join(cwd));
            root.strip_prefix(base).unwrap().display().to_string()
        };
        make(".panto");
        make("plain/deep");
        make("repository/.git");
        make("repository/a/.panto");
        make("repository/a/b/c");
        make("repository/other");
        assert_eq!(root("plain/deep"), "plain/deep");
        assert_eq!(root("repository/a/b/c"), "repository/a");
        assert_eq!(root("repository/other"), "repository");
        assert_eq!(root("repository"), "repository");
        assert_eq!(root("does/not/exist"), "does/not/exist");
        fs::write(base.join("repository/a/b/.panto"), "a file").unwrap();
        assert_eq!(root("repository/a/b/c"), "repository/a");
        make("worktree/.panto");
        fs::write(base.join("worktree/.git"), "gitdir: elsewhere").unwrap();
        make("worktree/inner");
        assert_eq!(root("worktree/inner"), "worktree");
    }
}
