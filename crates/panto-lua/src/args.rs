//! Checked arguments: each wrong one is a message that names it.

use std::borrow::Cow;
use std::fmt::Display;

use mlua::{AnyUserData, Function, LuaString, MultiValue, Table, UserDataRef, Value};

use crate::fault::Fault;

/// The arguments of one call.
pub struct Args {
    function: &'static str,
    object: Value,
    values: MultiValue,
}

impl Args {
    pub(crate) fn new(function: &'static str, values: MultiValue) -> Self {
        Self {
            function,
            object: Value::Nil,
            values,
        }
    }

    /// The object that a method of `class` is called on.
    ///
    /// # Errors
    ///
    /// It is none of the class, as if the method was called with a dot.
    pub fn this<T: 'static>(&mut self, class: &'static str) -> Result<UserDataRef<T>, Fault> {
        self.object = self.values.pop_front().unwrap_or(Value::Nil);
        this(self.function, &self.object, class)
    }

    /// The object that [`Args::this`] was called for, as Lua has it.
    pub fn object(&self) -> Value {
        self.object.clone()
    }

    /// The next argument, absent or not.
    pub fn next(&mut self, name: &'static str) -> Arg {
        Arg {
            function: self.function,
            name: Cow::Borrowed(name),
            value: self.values.pop_front().unwrap_or(Value::Nil),
        }
    }

    /// The one table of named arguments that the function takes.
    ///
    /// # Errors
    ///
    /// It is no table, or has other keys.
    pub fn options(&mut self, keys: &'static [&'static str]) -> Result<Options, Fault> {
        self.next("options").options(keys)
    }
}

/// The object that the method `function` of `class` is called on.
pub(crate) fn this<T: 'static>(
    function: &str,
    object: &Value,
    class: &str,
) -> Result<UserDataRef<T>, Fault> {
    let found = match object {
        Value::UserData(userdata) => borrow(userdata),
        _ => None,
    };
    found.ok_or_else(|| {
        let got = type_name(object);
        Fault::misuse(format!(
            "bad argument 'self' to '{function}' ({class} expected, got {got}); \
             call it as object:{function}(…)"
        ))
    })
}

/// One argument, or one field of a table of named arguments.
pub struct Arg {
    function: &'static str,
    name: Cow<'static, str>,
    /// What was given; nil if nothing was.
    pub value: Value,
}

impl Arg {
    /// An argument that is part of another one.
    pub fn part(&self, name: impl Display, value: Value) -> Arg {
        Arg {
            function: self.function,
            name: Cow::Owned(format!("{}{name}", self.name)),
            value,
        }
    }

    /// The misuse of this argument.
    pub fn wrong(&self, what: impl Display) -> Fault {
        Fault::misuse(format!(
            "bad argument '{}' to '{}' ({what})",
            self.name, self.function
        ))
    }

    fn expected(&self, expected: &str) -> Fault {
        self.wrong(format_args!(
            "{expected} expected, got {}",
            type_name(&self.value)
        ))
    }

    /// The argument, if it was given.
    pub fn given(self) -> Option<Arg> {
        (!self.value.is_nil()).then_some(self)
    }

    /// Text; numbers are no text here.
    ///
    /// # Errors
    ///
    /// It is no string, or not UTF-8.
    pub fn text(&self) -> Result<String, Fault> {
        let string = self.string()?;
        match string.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.wrong("the text is not UTF-8")),
        }
    }

    /// A string of any bytes.
    ///
    /// # Errors
    ///
    /// It is no string.
    pub fn string(&self) -> Result<&LuaString, Fault> {
        match &self.value {
            Value::String(string) => Ok(string),
            _ => Err(self.expected("string")),
        }
    }

    /// A boolean.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn boolean(&self) -> Result<bool, Fault> {
        match &self.value {
            Value::Boolean(boolean) => Ok(*boolean),
            _ => Err(self.expected("boolean")),
        }
    }

    /// A whole number; a float that has no fraction is one.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn integer(&self) -> Result<i64, Fault> {
        match &self.value {
            Value::Integer(integer) => Ok(*integer),
            Value::Number(number) => whole(*number)
                .ok_or_else(|| self.wrong(format_args!("integer expected, got {number}"))),
            _ => Err(self.expected("integer")),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn count(&self) -> Result<u64, Fault> {
        let integer = self.integer()?;
        u64::try_from(integer)
            .map_err(|_| self.wrong(format_args!("must not be negative, got {integer}")))
    }

    /// A position that is counted from 1; given from 0.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn position(&self) -> Result<usize, Fault> {
        match usize::try_from(self.integer()?) {
            Ok(position) if position > 0 => Ok(position - 1),
            _ => Err(self.wrong("positions are counted from 1")),
        }
    }

    /// A table.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn table(&self) -> Result<&Table, Fault> {
        match &self.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.expected("table")),
        }
    }

    /// A function.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn function(&self) -> Result<&Function, Fault> {
        match &self.value {
            Value::Function(function) => Ok(function),
            _ => Err(self.expected("function")),
        }
    }

    /// An object of one of the module's classes.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn object<T: 'static>(&self, class: &str) -> Result<UserDataRef<T>, Fault> {
        match &self.value {
            Value::UserData(userdata) => borrow(userdata).ok_or_else(|| self.expected(class)),
            _ => Err(self.expected(class)),
        }
    }

    /// The elements of a list without holes.
    ///
    /// # Errors
    ///
    /// It is no table, has holes, or other keys.
    pub fn list(&self) -> Result<Vec<Arg>, Fault> {
        let table = self.table()?;
        let len = table.raw_len();
        let mut pairs = 0;
        table
            .for_each(|key: Value, _: Value| {
                pairs += 1;
                match key {
                    Value::Integer(_) => Ok(()),
                    _ => Err(mlua::Error::runtime("")),
                }
            })
            .map_err(|_| self.wrong("a list expected, got a table with other keys"))?;
        if pairs != len {
            return Err(self.wrong("a list expected, got one with holes"));
        }
        (1..=len)
            .map(|position| {
                let value = table.raw_get(position)?;
                Ok(self.part(format_args!("[{position}]"), value))
            })
            .collect()
    }

    /// The fields of a table that has no others than `keys`.
    ///
    /// # Errors
    ///
    /// It is no table, or has other keys.
    pub fn options(self, keys: &'static [&'static str]) -> Result<Options, Fault> {
        let table = self.table()?.clone();
        for pair in table.pairs::<Value, Value>() {
            let (key, _) = pair?;
            let name = match &key {
                Value::String(name) => name.to_string_lossy(),
                other => format!("[{}]", type_name(other)),
            };
            if !keys.contains(&name.as_str()) {
                return Err(self.wrong(format_args!(
                    "unknown field `{name}`; it takes {}",
                    quoted(keys)
                )));
            }
        }
        let prefix = match self.name {
            Cow::Borrowed(_) => String::new(),
            Cow::Owned(part) => format!("{part}."),
        };
        Ok(Options {
            function: self.function,
            prefix,
            table,
        })
    }
}

/// Named arguments in a table.
pub struct Options {
    function: &'static str,
    /// Before the fields' names in messages: what the table is part of.
    prefix: String,
    /// The table itself.
    pub table: Table,
}

impl Options {
    /// The field, absent or not.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn get(&self, name: &'static str) -> Result<Arg, Fault> {
        Ok(Arg {
            function: self.function,
            name: match self.prefix.as_str() {
                "" => Cow::Borrowed(name),
                prefix => Cow::Owned(format!("{prefix}{name}")),
            },
            value: self.table.raw_get(name)?,
        })
    }

    /// The field, if it is there.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn given(&self, name: &'static str) -> Result<Option<Arg>, Fault> {
        Ok(self.get(name)?.given())
    }
}

fn borrow<T: 'static>(userdata: &AnyUserData) -> Option<UserDataRef<T>> {
    userdata.borrow::<T>().ok()
}

/// The integer that a float without a fraction is.
pub(crate) fn whole(number: f64) -> Option<i64> {
    // Both bounds are exact floats; the upper one is just out of range.
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    (in_range && number.fract() == 0.0).then_some(number as i64)
}

pub(crate) fn type_name(value: &Value) -> Cow<'static, str> {
    match value {
        Value::Nil => Cow::Borrowed("nil"),
        Value::Integer(_) | Value::Number(_) => Cow::Borrowed("number"),
        // The module's own classes have names.
        Value::UserData(userdata) => match userdata.type_name() {
            Ok(name) => Cow::Owned(name.to_string_lossy()),
            Err(_) => Cow::Borrowed("userdata"),
        },
        other => Cow::Borrowed(other.type_name()),
    }
}

/// A list of names in a message.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
