//! JSON text to Lua values, straight into tables.
//!
//! Source: RFC 8259. Anything may stand at the top; nothing may follow it.

use std::borrow::Cow;

use mlua::{IntoLua, Lua, Table, Value};

use super::number::{BigNumber, number_len};
use super::{Json, JsonError, MAX_BYTES, MAX_DEPTH};

/// Reads one JSON value.
pub(super) fn decode(lua: &Lua, json: &Json, text: &[u8]) -> Result<Value, JsonError> {
    if text.len() > MAX_BYTES {
        let len = text.len();
        let message = format!("the text has {len} bytes; at most {MAX_BYTES} are read");
        return Err(JsonError(message));
    }
    let mut decoder = Decoder {
        lua,
        json,
        text,
        at: 0,
    };
    let value = decoder.value(0)?;
    decoder.blanks();
    match decoder.peek() {
        None => Ok(value),
        Some(_) => Err(decoder.wrong("expected the end of the text")),
    }
}

struct Decoder<'a> {
    lua: &'a Lua,
    json: &'a Json,
    text: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                self.lua(|lua| Ok(Value::String(lua.create_string(&*text)?)))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Boolean(true)),
            Some(b'f') => self.word("false", Value::Boolean(false)),
            Some(b'n') => self.word("null", Value::NULL),
            Some(_) => Err(self.wrong("expected a value")),
            None => Err(self.wrong("expected a value, found the end of the text")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        let table = self.open(depth)?;
        self.blanks();
        if self.eat(b'}') {
            return Ok(Value::Table(table));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.eat(b':') {
                return Err(self.wrong("expected `:`"));
            }
            let value = self.value(depth + 1)?;
            self.lua(|_| table.raw_set(&*key, value))?;
            self.blanks();
            if self.eat(b'}') {
                return Ok(Value::Table(table));
            }
            if !self.eat(b',') {
                return Err(self.wrong("expected `,` or `}`"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        let table = self.open(depth)?;
        self.lua(|_| self.json.mark(&table))?;
        self.blanks();
        if self.eat(b']') {
            return Ok(Value::Table(table));
        }
        let mut position = 1;
        loop {
            let value = self.value(depth + 1)?;
            self.lua(|_| table.raw_seti(position, value))?;
            position += 1;
            self.blanks();
            if self.eat(b']') {
                return Ok(Value::Table(table));
            }
            if !self.eat(b',') {
                return Err(self.wrong("expected `,` or `]`"));
            }
        }
    }

    /// A table for what the bracket opens.
    fn open(&mut self, depth: usize) -> Result<Table, JsonError> {
        if depth >= MAX_DEPTH {
            return Err(self.wrong(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.at += 1;
        self.lua(|lua| lua.create_table())
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let rest = &self.text[self.at..];
        let Some(len) = number_len(rest) else {
            return Err(self.wrong("expected a number"));
        };
        // A number is ASCII.
        let text = std::str::from_utf8(&rest[..len]).unwrap_or_default();
        let is_integer = !text.contains(['.', 'e', 'E']);
        let value = match (text.parse::<i64>(), text.parse::<f64>()) {
            // Only a float has a negative zero.
            (Ok(0), _) if text.starts_with('-') => Value::Number(-0.0),
            (Ok(integer), _) => Value::Integer(integer),
            (Err(_), Ok(float)) if !is_integer && float.is_finite() => Value::Number(float),
            _ => {
                let kept = BigNumber::parse(text);
                self.lua(|lua| kept.into_lua(lua))?
            }
        };
        self.at += len;
        Ok(value)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.wrong("expected a value"))
        }
    }

    /// A string, whose opening quote comes next.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let mut joined: Option<String> = None;
        loop {
            let start = self.at;
            let stop = |b: &u8| matches!(b, b'"' | b'\\' | 0..=0x1f);
            let Some(len) = self.text[start..].iter().position(stop) else {
                self.at = self.text.len();
                return Err(self.wrong("the string has no end"));
            };
            let piece = match std::str::from_utf8(&self.text[start..start + len]) {
                Ok(piece) => piece,
                Err(error) => {
                    self.at += error.valid_up_to();
                    return Err(self.wrong("the text is not UTF-8"));
                }
            };
            self.at += len;
            match self.text[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(match joined {
                        Some(joined) => Cow::Owned(joined + piece),
                        None => Cow::Borrowed(piece),
                    });
                }
                b'\\' => {
                    let joined = joined.get_or_insert_default();
                    joined.push_str(piece);
                    let escaped = self.escape()?;
                    joined.push(escaped);
                }
                _ => return Err(self.wrong("a control character in a string")),
            }
        }
    }

    /// An escaped character. A surrogate without its other half is U+FFFD.
    fn escape(&mut self) -> Result<char, JsonError> {
        let plain = match self.text.get(self.at + 1) {
            Some(b'u') => return self.unicode(),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.wrong("an unknown escape")),
        };
        self.at += 2;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let Some(first) = self.unit(self.at) else {
            return Err(self.wrong("expected four hexadecimal digits"));
        };
        self.at += 6;
        if (0xd800..0xdc00).contains(&first)
            && let Some(second) = self.unit(self.at)
            && (0xdc00..0xe000).contains(&second)
        {
            self.at += 6;
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The four digits of `\uXXXX`, if that stands at `at`.
    fn unit(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |code, &digit| {
            Some(code * 16 + char::from(digit).to_digit(16)?)
        })
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn lua<T>(&self, make: impl FnOnce(&Lua) -> mlua::Result<T>) -> Result<T, JsonError> {
        make(self.lua).map_err(|error| JsonError(crate::fault::error_text(&error)))
    }

    fn wrong(&self, what: impl std::fmt::Display) -> JsonError {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let begin = before
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let column = 1 + self.at - begin;
        JsonError(format!("line {line}, column {column}: {what}"))
    }
}
