//! What `require` finds for extensions: the files beside them, each its own instance, then Lua's
//! own search.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

use mlua::{Function, Lua, MultiValue, Table, Value};
use panto_lua::{Fault, values};

use super::shared::{Owner, Shared};
use super::surface::view;
use crate::extensions::SourceFile;

/// Loads the files of extensions.
pub(super) struct Modules {
    shared: Weak<Shared>,
    /// Lua's own `require`.
    require: Function,
    /// By file: what it gave, or `None` while it is being loaded.
    loaded: RefCell<HashMap<PathBuf, Option<Value>>>,
    /// By module.
    rocks: RefCell<HashMap<String, Rock>>,
}

/// A rock that is a source of extensions.
#[derive(Clone)]
struct Rock {
    /// Its entry.
    file: PathBuf,
    /// Below which its modules lie, by their full names.
    dir: PathBuf,
    owner: Owner,
}

/// No source is larger.
const MOST_BYTES: u64 = 8 << 20;

impl Modules {
    pub(super) fn new(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<Rc<Self>> {
        let modules = Rc::new(Self {
            shared: Rc::downgrade(shared),
            require: lua.globals().get("require")?,
            loaded: RefCell::default(),
            rocks: RefCell::default(),
        });
        modules.search_rocks(lua)?;
        Ok(modules)
    }

    /// Makes `require` load a rock's modules for the rock, whoever asks first. One that takes
    /// another's module takes its place.
    pub(super) fn add_rock(&self, module: &str, source: &SourceFile) {
        let rock = Rock {
            file: source.file.clone(),
            dir: source.dir.clone(),
            owner: source.stem.as_str().into(),
        };
        self.rocks.borrow_mut().insert(module.to_owned(), rock);
    }

    /// The entry of the rock that has the module.
    pub(super) fn rock_file(&self, module: &str) -> Option<PathBuf> {
        let rocks = self.rocks.borrow();
        rocks.get(module).map(|rock| rock.file.clone())
    }

    /// Lua's own `require`, which gives everybody the same instance.
    pub(super) fn require(&self) -> &Function {
        &self.require
    }

    /// Adds a searcher before those of files.
    fn search_rocks(self: &Rc<Self>, lua: &Lua) -> mlua::Result<()> {
        let modules = Rc::downgrade(self);
        let search = lua.create_function(move |lua, name: mlua::LuaString| {
            let Some(modules) = modules.upgrade() else {
                return Ok((None, None));
            };
            let name = name.to_string_lossy();
            let Some((rock, file)) = modules.file_of_a_rock(&name) else {
                return Ok((None, None));
            };
            let chunk = match modules.chunk(lua, &file, None, &rock.owner) {
                Ok(chunk) => chunk,
                Err(wrong) => raising(lua, &wrong)?,
            };
            Ok((Some(chunk), Some(file.display().to_string())))
        })?;
        let package: Table = lua.globals().get("package")?;
        package.get::<Table>("searchers")?.raw_insert(2, search)
    }

    fn file_of_a_rock(&self, name: &str) -> Option<(Rock, PathBuf)> {
        let rocks = self.rocks.borrow();
        if let Some(rock) = rocks.get(name) {
            return Some((rock.clone(), rock.file.clone()));
        }
        // A module of a rock, or of one within it.
        let ends = name.match_indices('.').map(|(end, _)| end).rev();
        let rock = ends.filter_map(|end| rocks.get(&name[..end])).next()?;
        Some((rock.clone(), sibling(&rock.dir, name)?))
    }

    /// The function that a source file is, in an environment in which `require` finds the modules
    /// of `dir` first, if it has one.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no Lua.
    pub(super) fn chunk(
        self: &Rc<Self>,
        lua: &Lua,
        file: &Path,
        dir: Option<&Path>,
        owner: &Owner,
    ) -> Result<Function, String> {
        let too_large = || format!("it is larger than {MOST_BYTES} bytes");
        let metadata = fs::metadata(file).map_err(|error| format!("it cannot be read: {error}"))?;
        if !metadata.is_file() {
            return Err("it is no file".to_owned());
        }
        if metadata.len() > MOST_BYTES {
            return Err(too_large());
        }
        let source = fs::read(file).map_err(|error| format!("it cannot be read: {error}"))?;
        let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&source);
        // As Lua's own program does with a first line for the system.
        let mut source = source.to_vec();
        if source.first() == Some(&b'#') {
            source.splice(0..0, *b"--");
        }
        let environment = self
            .environment(lua, dir, owner)
            .map_err(|error| error.to_string())?;
        lua.load(source)
            .set_name(format!("@{}", plain(&file.display().to_string())))
            .set_mode(mlua::chunk::ChunkMode::Text)
            .set_environment(environment)
            .into_function()
            .map_err(|error| match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            })
    }

    /// Globals as they are, but for `require`.
    fn environment(
        self: &Rc<Self>,
        lua: &Lua,
        dir: Option<&Path>,
        owner: &Owner,
    ) -> mlua::Result<Table> {
        let environment = lua.create_table_with_capacity(0, 1)?;
        let metatable = lua.create_table_with_capacity(0, 2)?;
        metatable.raw_set("__index", lua.globals())?;
        metatable.raw_set("__newindex", lua.globals())?;
        environment.set_metatable(Some(metatable))?;
        let modules = Rc::downgrade(self);
        let (dir, owner) = (dir.map(Path::to_owned), Rc::clone(owner));
        let own = RefCell::new(None::<Table>);
        let Some(shared) = self.shared.upgrade() else {
            return Err(mlua::Error::runtime("the session is over"));
        };
        let module = shared.module.clone();
        let require = module.function(lua, "require", move |lua, mut args| {
            let gone = || Fault::misuse("the session is over");
            let modules: Rc<Self> = modules.upgrade().ok_or_else(gone)?;
            let argument = args.next("modname");
            let name = argument.string()?.to_string_lossy();
            if name == "panto" {
                let made = own.borrow().clone();
                if let Some(made) = made {
                    return values(lua, made);
                }
                let shared = modules.shared.upgrade().ok_or_else(gone)?;
                let made = view(lua, &shared, &owner)?;
                own.replace(Some(made.clone()));
                return values(lua, made);
            }
            let beside = dir.as_deref();
            match beside.and_then(|dir| Some((dir, sibling(dir, &name)?))) {
                Some((dir, file)) => modules
                    .load_sibling(lua, &file, dir, &owner)
                    .map_err(Fault::misuse)
                    .and_then(|value| values(lua, value)),
                None => modules
                    .require
                    .call::<MultiValue>(name)
                    .map_err(|error| Fault::misuse(text_of(&error))),
            }
        })?;
        environment.raw_set("require", require)?;
        Ok(environment)
    }

    fn load_sibling(
        self: &Rc<Self>,
        lua: &Lua,
        file: &Path,
        dir: &Path,
        owner: &Owner,
    ) -> Result<Value, String> {
        let key = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let known = self.loaded.borrow().get(&key).cloned();
        match known {
            Some(Some(value)) => return Ok(value),
            Some(None) => {
                return Err(format!(
                    "`{}` is required by itself while it is being loaded",
                    file.display()
                ));
            }
            None => {}
        }
        self.loaded.borrow_mut().insert(key.clone(), None);
        let value = self
            .chunk(lua, file, Some(dir), owner)
            .map_err(|wrong| format!("{}: {wrong}", file.display()))
            .and_then(|chunk| chunk.call::<Value>(()).map_err(|error| text_of(&error)));
        match value {
            Ok(value) => {
                let value = match value {
                    Value::Nil => Value::Boolean(true),
                    value => value,
                };
                self.loaded.borrow_mut().insert(key, Some(value.clone()));
                Ok(value)
            }
            Err(error) => {
                self.loaded.borrow_mut().remove(&key);
                Err(error)
            }
        }
    }
}

/// What Lua raised, without a traceback and without mlua's own words.
fn text_of(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => text_of(cause),
        mlua::Error::RuntimeError(text) => {
            let text = text.split("\nstack traceback:").next();
            text.unwrap_or_default().to_owned()
        }
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// A path on one line.
pub(super) fn plain(path: &str) -> String {
    path.replace(|c: char| c.is_control(), "?")
}

/// A function that raises a text as Lua's own loaders do: an error from here would be said with
/// what Rust calls it.
fn raising(lua: &Lua, wrong: &str) -> mlua::Result<Function> {
    lua.load("local wrong = ... return function() error(wrong, 0) end")
        .call(wrong)
}

/// The file of a module that lies beside an extension's.
fn sibling(dir: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = |part: &str| !part.is_empty() && !part.contains(['/', '\\', '\0']);
    if !name.split('.').all(is_plain) {
        return None;
    }
    let base = dir.join(name.replace('.', "/"));
    let file = PathBuf::from(format!("{}.lua", base.display()));
    let candidates = [file, base.join("init.lua")];
    candidates.into_iter().find(|file| file.is_file())
}

/// Sets where Lua's own search looks.
pub(super) fn set_paths(lua: &Lua, dirs: &[PathBuf], native: &[PathBuf]) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    let patterns = |dirs: &[PathBuf], ends: &[&str]| {
        let patterns = dirs.iter().flat_map(|dir| {
            let dir = dir.display().to_string();
            ends.iter().map(move |end| format!("{dir}/{end}"))
        });
        patterns.collect::<Vec<_>>().join(";")
    };
    package.raw_set("path", patterns(dirs, &["?.lua", "?/init.lua"]))?;
    package.raw_set("cpath", patterns(native, &["?.so"]))
}
