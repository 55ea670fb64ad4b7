//! Events that say the same as the one before them, but for a text, and counts perhaps.
//!
//! Most of a stream is such events: what stands around the text was read once and need not be
//! read again.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What stood around the text of an event, and what that meant.
pub(crate) struct Frame<M> {
    before: String,
    /// Between the text and another value that changes, if there is one.
    between: String,
    after: String,
    meaning: Option<M>,
}

impl<M> Default for Frame<M> {
    fn default() -> Self {
        Self {
            before: String::new(),
            between: String::new(),
            after: String::new(),
            meaning: None,
        }
    }
}

impl<M: Copy> Frame<M> {
    /// The text of an event in this frame, and what the frame means.
    ///
    /// What is between the same bytes is one whole string, so all of it is JSON of the same shape.
    pub(crate) fn read(&self, data: &str) -> Option<(String, M)> {
        let meaning = self.meaning?;
        let text = data
            .strip_prefix(&*self.before)?
            .strip_suffix(&*self.after)?;
        Some((serde_json::from_str(text).ok()?, meaning))
    }

    /// As [`Frame::read`], of a frame with another value behind the text.
    pub(crate) fn read_with<'a, T>(&self, data: &'a str) -> Option<(String, T, M)>
    where
        T: Deserialize<'a>,
    {
        let meaning = self.meaning?;
        let (text, rest) = value(data.strip_prefix(&*self.before)?)?;
        let (other, rest) = value(rest.strip_prefix(&*self.between)?)?;
        (rest == self.after).then_some((text, other, meaning))
    }

    /// Remembers the frame of an event that is JSON and says nothing beside `text`, which is of
    /// `data` itself. A text with escapes is not where it was read; the frame stays as it was.
    pub(crate) fn remember(&mut self, data: &str, text: &Text<'_>, meaning: M) {
        let around = || {
            let text = text.place_in(data)?;
            Some([data.get(..text.start)?, "", data.get(text.end..)?])
        };
        self.set(around(), meaning);
    }

    /// As [`Frame::remember`], of an event that says nothing beside `text` and `other`. The frame
    /// stays as it was if that stands before the text, too.
    pub(crate) fn remember_with(
        &mut self,
        data: &str,
        text: &Text<'_>,
        other: &RawValue,
        meaning: M,
    ) {
        let around = || {
            let (text, other) = (text.place_in(data)?, place(other.get(), data)?);
            let between = data.get(text.end..other.start)?;
            Some([data.get(..text.start)?, between, data.get(other.end..)?])
        };
        self.set(around(), meaning);
    }

    fn set(&mut self, around: Option<[&str; 3]>, meaning: M) {
        if let Some([before, between, after]) = around {
            before.clone_into(&mut self.before);
            between.clone_into(&mut self.between);
            after.clone_into(&mut self.after);
            self.meaning = Some(meaning);
        }
    }
}

/// The value that `json` begins with, and what follows it.
fn value<'a, T: Deserialize<'a>>(json: &'a str) -> Option<(T, &'a str)> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter();
    let value = values.next()?.ok()?;
    Some((value, json.get(values.byte_offset()..)?))
}

/// Where `part` stands in `whole`, if it is of it.
fn place(part: &str, whole: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    Some(start..start.checked_add(part.len())?)
}

/// A string that is borrowed from the event, unless it has escapes.
#[derive(Default)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    /// Where it stands in the event, with its quotes. With escapes it is not where it was read.
    fn place_in(&self, data: &str) -> Option<Range<usize>> {
        let Cow::Borrowed(text) = self.0 else {
            return None;
        };
        let inside = place(text, data)?;
        Some(inside.start.checked_sub(1)?..inside.end.checked_add(1)?)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        #[serde(borrow)]
        n: Option<&'a RawValue>,
    }

    fn framed(first: &str, next: &str) -> Option<String> {
        let mut frame = Frame::default();
        let event: Event<'_> = serde_json::from_str(first).unwrap();
        frame.remember(first, &event.text, ());
        frame.read(next).map(|(text, ())| text)
    }

    #[test]
    fn only_what_differs_in_its_text_alone_is_in_the_frame() {
        let first = r#"{"n":1,"text":"a","m":[]}"#;
        let cases = [
            (r#"{"n":1,"text":"b","m":[]}"#, Some("b")),
            (r#"{"n":1,"text":"","m":[]}"#, Some("")),
            (r#"{"n":1,"text":"\"é\\","m":[]}"#, Some("\"é\\")),
            // A text can look like an event.
            (
                r#"{"n":1,"text":"\",\"m\":[]}","m":[]}"#,
                Some(r#"","m":[]}"#),
            ),
            (r#"{"n":2,"text":"b","m":[]}"#, None),
            (r#"{"n":1,"text":"b","m":[1]}"#, None),
            (r#"{"n":1,"text":null,"m":[]}"#, None),
            (r#"{"n":1,"text":"b\","m":[]}"#, None),
            (r#"{"n":1,"text":"b\ud83d","m":[]}"#, None),
            (r#"{"n":1,"text":"b","n":"2","m":[]}"#, None),
            (r#"{"n":1,"text":"b""#, None),
            (r#"{"n":1,"text":"#, None),
            ("", None),
        ];
        for (next, text) in cases {
            assert_eq!(framed(first, next).as_deref(), text, "{next}");
        }
        let two = |next: &str| {
            let mut frame = Frame::default();
            let first = r#"{"text": "a", "n": {"x": 1}, "m": []}"#;
            let event: Event<'_> = serde_json::from_str(first).unwrap();
            frame.remember_with(first, &event.text, event.n.unwrap(), ());
            let read: Option<(_, Value, _)> = frame.read_with(next);
            read.map(|(text, other, ())| format!("{text} {other}"))
        };
        let cases = [
            (
                r#"{"text": "b\n", "n": {"x": 22}, "m": []}"#,
                Some("b\n {\"x\":22}"),
            ),
            (r#"{"text": "b", "n": [], "m": []}"#, Some("b []")),
            (r#"{"text": "b", "n": {"x": 1}, "m": [1]}"#, None),
            (r#"{"text": "b", "n": {"x": 1}, "n": {}, "m": []}"#, None),
            (r#"{"text": "b", "x": 1, "n": {"x": 1}, "m": []}"#, None),
            (r#"{"text": "b", "n": {"x"#, None),
        ];
        for (next, read) in cases {
            assert_eq!(two(next).as_deref(), read, "{next}");
        }
        let escaped = r#"{"n":1,"text":"\n","m":[]}"#;
        assert_eq!(framed(escaped, first), None);
    }
}
