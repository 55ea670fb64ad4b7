//! A directory with layers and a project, and a Lua state in which an extension is activated.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, Table, Value};
use panto_kit::themes::Themes;
use panto_runtime::{LuaRuntime, Options};
use tempfile::TempDir;

/// Directories: `home`, `base`, `user`, and `repo`, a git repository with `.panto`.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) trusted: bool,
    /// Below the world's directory.
    pub(crate) cwd: &'static str,
    pub(crate) has_home: bool,
    /// For the extension, as Lua.
    pub(crate) settings: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
            trusted: true,
            cwd: "repo",
            has_home: true,
            settings: "{}".to_owned(),
        };
        for dir in ["home", "base", "user", "repo/.git", "repo/.panto/local"] {
            fs::create_dir_all(world.path(dir)).unwrap();
        }
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A skill as it should be.
    pub(crate) fn skill(&self, dir: &str, name: &str, description: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo {name}.\n");
        self.file(&format!("{dir}/SKILL.md"), text);
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn dirs(&self, lua: &Lua) -> Table {
        let text = |path: PathBuf| {
            lua.create_string(path.as_os_str().as_encoded_bytes())
                .unwrap()
        };
        let dirs = lua.create_table().unwrap();
        let mut layers = vec![("base", "base"), ("user", "user")];
        if self.trusted {
            layers.extend([("project", "repo/.panto"), ("local", "repo/.panto/local")]);
        }
        let list = lua.create_table().unwrap();
        for (name, dir) in layers {
            let layer = lua.create_table().unwrap();
            layer.set("name", name).unwrap();
            layer.set("dir", text(self.path(dir))).unwrap();
            list.push(layer).unwrap();
        }
        dirs.set("layers", list).unwrap();
        dirs.set("project_root", text(self.path("repo"))).unwrap();
        dirs.set("cwd", text(self.path(self.cwd))).unwrap();
        if self.has_home {
            dirs.set("home", text(self.path("home"))).unwrap();
        }
        dirs
    }

    /// Activates an extension of the rock.
    #[track_caller]
    pub(crate) fn activate(&self, extension: &str) -> Bench {
        let threads = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let guard = threads.enter();
        // A loaded machine is no reason to stop a step.
        let options = Options::new(threads.handle().clone()).step_limit(Duration::from_secs(60));
        let lua = panto_runtime::standalone::trusting_state();
        let runtime = LuaRuntime::open(lua.clone(), options).unwrap();
        drop(guard);
        let given = lua.create_table().unwrap();
        let data = panto_kit::data(&lua, runtime.module(), Arc::<Themes>::default()).unwrap();
        given.set("data", data).unwrap();
        given.set("dirs", self.dirs(&lua)).unwrap();
        let settings: Value = lua
            .load(format!("return {}", self.settings))
            .eval()
            .unwrap();
        let by_name = lua.create_table().unwrap();
        by_name.set(extension, settings).unwrap();
        given.set("settings", by_name).unwrap();
        let told: Table = lua.load(include_str!("bench.lua")).call(given).unwrap();

        let extensions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rocks/agent/extensions");
        let package: Table = lua.globals().get("package").unwrap();
        let pattern = format!("{}/?.lua", extensions.display());
        package.set("path", pattern).unwrap();
        let entry: Table = lua
            .load(fs::read(extensions.join(format!("{extension}.lua"))).unwrap())
            .set_name(format!("@{extension}.lua"))
            .eval()
            .unwrap();
        assert_eq!(entry.get::<String>("name").unwrap(), extension);
        let mut bench = Bench {
            runtime,
            threads,
            told,
            root: self.root(),
        };
        let activate = entry.get("activate").unwrap();
        bench.drive("activation", activate, ()).unwrap();
        bench
    }
}

/// A state in which an extension is active.
pub(crate) struct Bench {
    runtime: LuaRuntime,
    threads: tokio::runtime::Runtime,
    told: Table,
    root: PathBuf,
}

impl Bench {
    /// Runs a function as a host does: as a coroutine.
    fn drive(
        &mut self,
        what: &str,
        function: Function,
        arguments: impl mlua::IntoLuaMulti,
    ) -> Result<Vec<Value>, String> {
        let drive = self.runtime.handle().drive(what, function, arguments);
        let drive = drive.map_err(|failure| failure.to_string())?;
        let values = self.threads.block_on(self.runtime.run_until(drive));
        let values = values.map_err(|failure| failure.message)?;
        Ok(values.into_iter().collect())
    }

    /// The text with `~` for the world's directory.
    fn relative(&self, text: &str) -> String {
        text.replace(&*self.root.to_string_lossy(), "~")
    }

    fn keys(&self, table: &str) -> Vec<String> {
        let table: Table = self.told.get(table).unwrap();
        let mut keys: Vec<String> = table
            .pairs::<String, Value>()
            .map(|pair| pair.unwrap().0)
            .collect();
        keys.sort();
        keys
    }

    /// What was said, a line each.
    pub(crate) fn diagnostics(&self) -> String {
        let said: Vec<String> = self.told.get("diagnostics").unwrap();
        self.relative(&said.join("\n"))
    }

    pub(crate) fn tools(&self) -> String {
        self.keys("tools").join(" ")
    }

    /// Each command and its description.
    pub(crate) fn commands(&self) -> String {
        let commands: Table = self.told.get("commands").unwrap();
        let mut shown = String::new();
        for name in self.keys("commands") {
            let command: Table = commands.get(&*name).unwrap();
            let description: String = command.get("description").unwrap();
            shown.push_str(&format!("/{name} {description}\n"));
        }
        self.relative(&shown)
    }

    /// A section of the system prompt.
    pub(crate) fn section(&self, name: &str) -> String {
        let sections: Table = self.told.get("sections").unwrap();
        let text: Option<String> = sections.get(name).unwrap();
        self.relative(&text.unwrap_or_else(|| "(no section)".to_owned()))
    }

    /// What a tool's handler gives for an input, which is Lua.
    pub(crate) fn tool(&mut self, name: &str, input: &str) -> String {
        let tools: Table = self.told.get("tools").unwrap();
        let tool: Table = tools.get(name).unwrap();
        let input: Value = self
            .runtime
            .lua()
            .load(format!("return {input}"))
            .eval()
            .unwrap();
        self.outcome("a tool", tool.get("handler").unwrap(), input)
    }

    /// The prompt that a command submits.
    pub(crate) fn command(&mut self, name: &str, arguments: &str) -> String {
        let commands: Table = self.told.get("commands").unwrap();
        let command: Table = commands.get(name).unwrap();
        self.outcome("a command", command.get("handler").unwrap(), arguments)
    }

    fn outcome(
        &mut self,
        what: &str,
        handler: Function,
        argument: impl mlua::IntoLuaMulti,
    ) -> String {
        let text = match self.drive(what, handler, argument) {
            Err(message) => format!("error: {message}"),
            Ok(values) => match values.as_slice() {
                [Value::String(text), ..] => text.to_string_lossy(),
                [Value::Table(output)] => output.get::<String>("prompt").unwrap(),
                [Value::Nil, Value::String(message)] => {
                    format!("failed: {}", message.to_string_lossy())
                }
                other => format!("{other:?}"),
            },
        };
        self.relative(&text)
    }
}
