//! Numbers that no Lua number holds.

use mlua::{MetaMethod, UserData, UserDataFields, UserDataMethods, Value};

/// A JSON number kept as its text, such as an integer beyond 64 bits.
///
/// In Lua it is opaque: `tostring` gives its text, `==` compares texts, and it encodes as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BigNumber(String);

impl BigNumber {
    /// Keeps the text of a JSON number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        (number_len(text.as_bytes()) == Some(text.len())).then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl UserData for BigNumber {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field(MetaMethod::Type, "panto.json.number");
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.0.clone()));
        methods.add_meta_function(MetaMethod::Eq, |_, (left, right): (Value, Value)| {
            Ok(match (of(&left), of(&right)) {
                (Some(left), Some(right)) => left == right,
                _ => false,
            })
        });
    }
}

fn of(value: &Value) -> Option<BigNumber> {
    let number = value.as_userdata()?.borrow::<BigNumber>().ok()?;
    Some(number.clone())
}

/// How many bytes the JSON number has with which `text` begins; `None` if it begins with none.
///
/// Source: RFC 8259, section 6.
pub(super) fn number_len(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        text[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut len = usize::from(text.first() == Some(&b'-'));
    len += match text.get(len)? {
        b'0' => 1,
        b'1'..=b'9' => digits(len),
        _ => return None,
    };
    if text.get(len) == Some(&b'.') {
        let fraction = digits(len + 1);
        if fraction == 0 {
            return None;
        }
        len += 1 + fraction;
    }
    if matches!(text.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits(len + 1 + sign);
        if exponent == 0 {
            return None;
        }
        len += 1 + sign + exponent;
    }
    Some(len)
}
