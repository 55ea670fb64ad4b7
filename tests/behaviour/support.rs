//! A machine of its own for each test: home, configuration, sessions and a scripted model.

pub(crate) mod children;
pub(crate) mod loopback;
mod running;
mod terminal;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub(crate) use running::Running;
pub(crate) use terminal::Terminal;

/// Directories that no other test sees.
pub(crate) struct Machine {
    root: TempDir,
}

impl Machine {
    /// A machine whose configured model plays `script`.
    pub(crate) fn with_script(script: &str) -> Self {
        let machine = Self::without_config();
        fs::write(machine.config_dir().join("script.toml"), script).unwrap();
        machine.write_config(
            r#"model = "test:model"

[providers.test]
protocol = "scripted"
script = "script.toml"

[providers.test.models.model]
context_window = 100000
"#,
        );
        machine
    }

    /// A machine where nothing is configured.
    pub(crate) fn without_config() -> Self {
        let machine = Self {
            root: TempDir::new().unwrap(),
        };
        for directory in [machine.config_dir(), machine.sessions(), machine.work()] {
            fs::create_dir_all(directory).unwrap();
        }
        machine
    }

    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.config_dir().join("config.toml"), text).unwrap();
    }

    pub(crate) fn write_script(&self, script: &str) {
        fs::write(self.config_dir().join("script.toml"), script).unwrap();
    }

    /// Writes a file below [`Machine::root`], and the directories that it lies in.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// An extension of the user's whose `activate` is `body`, with `panto` at hand.
    pub(crate) fn extension(&self, name: &str, body: &str) {
        self.file(
            &format!("home/.config/panto/extensions/{name}.lua"),
            &format!(
                "local panto = require(\"panto\")\nreturn {{ name = \"{name}\", activate = function()\n{body}\nend }}\n"
            ),
        );
    }

    /// Below which everything of the machine lies.
    pub(crate) fn root(&self) -> PathBuf {
        // As the system names it: a temporary directory may lie behind a link.
        self.root.path().canonicalize().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn config_dir(&self) -> PathBuf {
        self.path("home/.config/panto")
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.path("sessions")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// The file that keeps keys.
    pub(crate) fn credentials(&self) -> PathBuf {
        self.path("home/.local/share/panto/auth/credentials.json")
    }

    /// The files of all sessions.
    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.sessions())
            .unwrap()
            .flat_map(|directory| fs::read_dir(directory.unwrap().path()).unwrap())
            .map(|file| file.unwrap().path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "jsonl")
            })
            .collect();
        files.sort();
        files
    }

    /// The id of the one session that there is.
    pub(crate) fn only_session(&self) -> String {
        let files = self.session_files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].file_stem().unwrap().to_str().unwrap().to_owned()
    }

    /// The program with arguments and an empty standard input.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_panto"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PANTO_SESSION_DIR", self.sessions())
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(self.command(arguments).output().unwrap())
    }

    /// Runs the program with variables in its environment.
    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        self.ran(command.envs(variables.iter().copied()).output().unwrap())
    }

    /// Runs the program with `input` on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that refuses its arguments does not read.
        let _ = child.stdin.take().unwrap().write_all(input);
        self.ran(child.wait_with_output().unwrap())
    }

    /// Starts the program; the test reads its standard output line by line.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running<'_> {
        self.start_command(&mut self.command(arguments))
    }

    /// Starts a command that [`Machine::command`] has made.
    pub(crate) fn start_command(&self, command: &mut Command) -> Running<'_> {
        Running::start(self, command)
    }

    /// Starts `command` with the program and its arguments behind its own.
    pub(crate) fn start_by(&self, command: &mut Command, arguments: &[&str]) -> Running<'_> {
        command
            .arg(env!("CARGO_BIN_EXE_panto"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PANTO_SESSION_DIR", self.sessions())
            .current_dir(self.work())
            .stdin(Stdio::null());
        Running::start(self, command)
    }

    fn ran(&self, output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: self.readable(&String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Text with the machine's own paths and ids replaced by names.
    pub(crate) fn readable(&self, text: &str) -> String {
        let root = self.root.path().canonicalize().unwrap();
        let root = root.to_str().unwrap();
        // A session's directory is named after the working directory.
        let text = text
            .replace(root, "ROOT")
            .replace(&root.replace('/', "+"), "+ROOT");
        name_ids(&text)
    }
}

/// Replaces every UUID by `ID`.
fn name_ids(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut at = 0;
    while at < bytes.len() {
        if is_uuid(&bytes[at..]) {
            out.push_str("ID");
            at += 36;
        } else {
            let length = text[at..].chars().next().unwrap().len_utf8();
            out.push_str(&text[at..at + length]);
            at += length;
        }
    }
    out
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() >= 36
        && bytes[..36].iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// What a run of the program came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The run as one text, for a snapshot.
    pub(crate) fn shown(&self) -> String {
        let code = self
            .code
            .map_or("a signal".to_owned(), |code| code.to_string());
        format!(
            "exit {code}\n-- stdout\n{}-- stderr\n{}",
            self.stdout, self.stderr
        )
    }

    /// The standard output of a run that went well.
    #[track_caller]
    pub(crate) fn answer(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.shown());
        self.stdout
    }

    /// The last line of standard output as JSON.
    #[track_caller]
    pub(crate) fn result(&self) -> serde_json::Value {
        let line = self.stdout.lines().last().expect("no output");
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["type"], "result", "{line}");
        object
    }
}

/// Makes a directory one in which nothing can be made, also for root: a file in its place.
pub(crate) fn block(directory: &Path) {
    let _ = fs::remove_dir_all(directory);
    fs::write(directory, "not a directory").unwrap();
}
