//! The program `luarocks`, driven so that only panto's tree and the embedded Lua count.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::name::RockName;
use super::prefix::{PrefixError, stage_prefix};
use super::tree::{RocksTree, lua_version};

/// The oldest version that knows everything that it is told here.
const OLDEST: (u32, u32) = (3, 8);

/// What is needed to drive the program.
#[derive(Debug)]
pub struct LuaRocksOptions<'a> {
    /// Where the tree, and Lua's headers, lie.
    pub data_home: &'a Path,
    /// The program whose `lua` command runs the embedded Lua.
    pub program: &'a Path,
    /// The environment that it gets. What would configure `luarocks` or Lua is left out of it.
    pub environment: Vec<(OsString, OsString)>,
    /// Where rocks come from, instead of the program's own servers.
    pub server: Option<&'a str>,
}

/// The program, the only one at work in its tree until it is dropped.
#[derive(Debug)]
pub struct LuaRocks {
    tree: RocksTree,
    /// What holds rocks' trees, and is the program's working directory.
    dir: PathBuf,
    prefix: PathBuf,
    environment: Vec<(OsString, OsString)>,
    server: Option<String>,
    _lock: File,
}

/// Why rocks could not be installed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LuaRocksError {
    /// There is no such program.
    #[error("rocks are installed by `luarocks`, which is not there")]
    Missing,
    /// There is one, and it is too old.
    #[error("`luarocks` is too old: this is {found}")]
    TooOld {
        /// What it says that it is.
        found: String,
    },
    /// It could not be started.
    #[error("could not start `luarocks`")]
    Start(#[source] io::Error),
    /// It failed.
    #[error("`luarocks {command}` failed:\n{said}")]
    Failed {
        /// What it was to do.
        command: String,
        /// The end of what it said.
        said: String,
    },
    /// What it needs could not be written.
    #[error("could not prepare `{0}`")]
    Prepare(PathBuf, #[source] io::Error),
    /// The embedded Lua could not be laid out for it.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
}

impl LuaRocks {
    /// Finds the program and prepares what it works with; waits while another process does so.
    ///
    /// # Errors
    ///
    /// [`LuaRocksError`]; nothing is installed or removed.
    pub fn open(options: LuaRocksOptions<'_>) -> Result<Self, LuaRocksError> {
        let tree = RocksTree::of_data_home(options.data_home);
        let dir = options.data_home.join("rocks");
        let mut environment = options.environment;
        environment.retain(|(name, _)| !configures(name));
        check_version(&environment)?;
        let prepare = |error| LuaRocksError::Prepare(dir.clone(), error);
        fs::create_dir_all(tree.root()).map_err(prepare)?;
        let lock = File::create(dir.join("lock")).map_err(prepare)?;
        lock.lock().map_err(prepare)?;
        let prefix = stage_prefix(options.data_home, options.program)?;
        // Else it would look for a project's configuration, which is code, in the directories above.
        fs::write(dir.join(".luarocks-no-project"), "").map_err(prepare)?;
        let config = dir.join("luarocks.lua");
        write_whole(&config, &configuration(&tree)).map_err(prepare)?;
        let variable = format!("LUAROCKS_CONFIG_{}", lua_version().replace('.', "_"));
        environment.push((variable.into(), config.into()));
        Ok(Self {
            tree,
            dir,
            prefix,
            environment,
            server: options.server.map(str::to_owned),
            _lock: lock,
        })
    }

    /// The tree that it works in.
    pub fn tree(&self) -> &RocksTree {
        &self.tree
    }

    /// Installs a rock and what it needs, in place of any other version of it.
    ///
    /// # Errors
    ///
    /// [`LuaRocksError`]; what was installed is there still.
    pub fn install(&self, rock: &RockName, version: Option<&str>) -> Result<(), LuaRocksError> {
        let words = ["install", rock.as_str()].into_iter().chain(version);
        self.run(&words.collect::<Vec<_>>()).map(drop)
    }

    /// Removes a rock that is installed.
    ///
    /// # Errors
    ///
    /// [`LuaRocksError`], also if another rock needs it.
    pub fn remove(&self, rock: &RockName) -> Result<(), LuaRocksError> {
        self.run(&["remove", rock.name()]).map(drop)
    }

    /// The names of the installed rocks that have a newer version.
    ///
    /// # Errors
    ///
    /// [`LuaRocksError`].
    pub fn outdated(&self) -> Result<Vec<String>, LuaRocksError> {
        let listed = self.run(&["list", "--outdated", "--porcelain"])?;
        let names = listed.lines().filter_map(|line| line.split('\t').next());
        Ok(names.map(str::to_owned).collect())
    }

    fn run(&self, words: &[&str]) -> Result<String, LuaRocksError> {
        let mut command = command(&self.environment);
        // With `=`: a value that stands alone and has one would be taken for a variable.
        let mut option = |name: &str, value: &OsStr| {
            let mut word = OsString::from(name);
            word.push("=");
            word.push(value);
            command.arg(word);
        };
        option("--lua-version", lua_version().as_ref());
        option("--lua-dir", self.prefix.as_ref());
        option("--tree", self.tree.root().as_ref());
        if let Some(server) = &self.server {
            option("--only-server", server.as_ref());
        }
        let output = command.args(words).current_dir(&self.dir).output();
        let output = output.map_err(not_started)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(LuaRocksError::Failed {
            command: words.join(" "),
            said: end_of(&output),
        })
    }
}

/// Whether a variable would change what `luarocks`, or the Lua that it starts, does.
fn configures(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"LUAROCKS_") || name.starts_with(b"LUA_INIT")
}

fn command(environment: &[(OsString, OsString)]) -> Command {
    let mut command = Command::new("luarocks");
    command
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    command
}

fn not_started(error: io::Error) -> LuaRocksError {
    match error.kind() {
        io::ErrorKind::NotFound => LuaRocksError::Missing,
        _ => LuaRocksError::Start(error),
    }
}

fn check_version(environment: &[(OsString, OsString)]) -> Result<(), LuaRocksError> {
    let mut asked = command(environment);
    // Wherever panto was started, nothing there counts.
    asked.arg("--version").current_dir("/");
    let output = asked.output().map_err(not_started)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let found = said.lines().next().unwrap_or_default();
    match version(found) {
        Some(version) if version >= OLDEST => Ok(()),
        Some(_) => Err(LuaRocksError::TooOld {
            found: found.to_owned(),
        }),
        None => Err(LuaRocksError::Failed {
            command: "--version".to_owned(),
            said: end_of(&output),
        }),
    }
}

/// The version in a line such as `/usr/bin/luarocks 3.8.0`.
fn version(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.split_whitespace().last()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The last of what a program said, whichever stream it was.
fn end_of(output: &Output) -> String {
    const LINES: usize = 30;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return format!("{}", output.status);
    }
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Stands in for the configuration in the home directory: another tree, or another place in it
/// for modules, would not be found by panto.
fn configuration(tree: &RocksTree) -> String {
    let version = lua_version();
    let root = quoted(tree.root());
    let cache = quoted(&tree.root().with_file_name("cache"));
    format!(
        "rocks_trees = {{ {{ name = \"panto\", root = {root} }} }}\n\
         local_cache = {cache}\n\
         local_by_default = false\n\
         lua_modules_path = \"/share/lua/{version}\"\n\
         lib_modules_path = \"/lib/lua/{version}\"\n\
         rocks_subdir = \"/lib/luarocks/rocks-{version}\"\n"
    )
}

/// A path as a string of Lua's, whatever is in it.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for byte in path.as_os_str().as_bytes() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\{byte:03}");
    }
    text.push('"');
    text
}

fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let mut staged = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(file))?;
    staged.write_all(text.as_bytes())?;
    staged.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("/usr/bin/luarocks 3.8.0"), Some((3, 8)));
        assert_eq!(version("luarocks 3.11.1"), Some((3, 11)));
        assert_eq!(version("command not found"), None);
    }
}
