//! Which tables are stores. Everything here is of the owner thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use mlua::{Function, Lua, MultiValue, Table, Value};
use panto_lua::TableStores;
use pantograph::SessionStore;
use parking_lot::Mutex;

use super::method::Method;
use super::{LuaStore, Shared};
use crate::entry::Later;
use crate::executor::Executor;
use crate::raw;

/// The tables that are stores.
pub(crate) struct Stores {
    /// By the table's address, which is its own as long as it is kept here.
    adopted: RefCell<HashMap<usize, Adopted>>,
    /// Calls a method of a table by name; gives `absent` if there is none.
    pub(super) call: Function,
    /// The types of a table's fields.
    kinds: Function,
    pub(super) absent: Table,
}

struct Adopted {
    table: Table,
    shared: Weak<Shared>,
}

const SOURCE: &str = r#"
local absent = ...
local type = type
local function call(store, name, ...)
  local method = store[name]
  if method == nil then
    return absent
  end
  return method(store, ...)
end
local function kinds(store, name, ...)
  if name then
    return type(store[name]), kinds(store, ...)
  end
end
return call, kinds
"#;

impl Stores {
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        let absent = lua.create_table()?;
        let chunk = lua.load(SOURCE).set_name("=[panto]");
        let (call, kinds): (Function, Function) = chunk.call(&absent)?;
        raw::exempt(lua, &[&call, &kinds])?;
        Ok(Self {
            adopted: RefCell::default(),
            call,
            kinds,
            absent,
        })
    }

    pub(super) fn table(&self, key: usize) -> Option<Table> {
        let adopted = self.adopted.borrow();
        adopted.get(&key).map(|adopted| adopted.table.clone())
    }

    pub(super) fn forget(&self, key: usize) {
        let mut adopted = self.adopted.borrow_mut();
        // The table may have been adopted anew meanwhile.
        if adopted
            .get(&key)
            .is_some_and(|adopted| adopted.shared.strong_count() == 0)
        {
            adopted.remove(&key);
        }
    }
}

/// Makes stores of tables.
pub(crate) struct Tables(pub(crate) Later);

impl TableStores for Tables {
    fn adopt(&self, lua: &Lua, table: Table) -> Result<Arc<dyn SessionStore>, String> {
        let executor = self.0.borrow().upgrade();
        let executor: Rc<Executor> = executor.ok_or("the Lua state is closing")?;
        executor.session_store(lua, table)
    }
}

impl Executor {
    /// The store that a table is; the same one as long as somebody uses it.
    pub(crate) fn session_store(
        &self,
        lua: &Lua,
        table: Table,
    ) -> Result<Arc<dyn SessionStore>, String> {
        check(self, lua, &table)?;
        let key = table.to_pointer() as usize;
        let mut adopted = self.stores.adopted.borrow_mut();
        let known = adopted.get(&key).and_then(|known| known.shared.upgrade());
        let shared = known.unwrap_or_else(|| {
            let shared = Arc::new(Shared {
                key,
                inbox: Arc::clone(&self.inbox),
                open: Mutex::default(),
            });
            let weak = Arc::downgrade(&shared);
            adopted.insert(
                key,
                Adopted {
                    table,
                    shared: weak,
                },
            );
            shared
        });
        Ok(Arc::new(LuaStore { shared }))
    }
}

/// Whether a table has all that a store needs.
fn check(executor: &Executor, lua: &Lua, table: &Table) -> Result<(), String> {
    let mut arguments = vec![Value::Table(table.clone())];
    for method in Method::REQUIRED {
        let name = lua.create_string(method.name());
        arguments.push(Value::String(name.map_err(|error| error.to_string())?));
    }
    let kinds = executor.call(
        lua,
        "the store",
        &executor.stores.kinds,
        MultiValue::from_vec(arguments),
    );
    let kinds = kinds
        .map_err(|failure| format!("a method could not be read from it: {}", failure.message))?;
    for (method, kind) in Method::REQUIRED.iter().zip(kinds) {
        let kind = kind.to_string().unwrap_or_default();
        if kind != "function" {
            let name = method.name();
            return Err(format!(
                "a store needs a function `{name}`, got {kind}; it has {}",
                Method::list_of_required()
            ));
        }
    }
    Ok(())
}
