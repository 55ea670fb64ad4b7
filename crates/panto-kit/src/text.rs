//! How the bytes of a file are text: encodings, line ends, and what is no text at all.

use std::borrow::Cow;

use pantograph::Attachment;

/// How many bytes are looked at to tell old eight-bit text from data.
const SNIFFED: usize = 8 * 1024;

/// How text is written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16, low byte first, behind a byte order mark.
    Utf16Le,
    /// UTF-16, high byte first, behind a byte order mark.
    Utf16Be,
    /// One byte a character, up to U+00FF.
    Latin1,
}

impl Encoding {
    /// All, with the names that Lua has for them.
    const NAMES: &[(Encoding, &str)] = &[
        (Encoding::Utf8, "utf-8"),
        (Encoding::Utf8Bom, "utf-8-bom"),
        (Encoding::Utf16Le, "utf-16le"),
        (Encoding::Utf16Be, "utf-16be"),
        (Encoding::Latin1, "latin-1"),
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(encoding, _)| *encoding == self);
        named.map_or("utf-8", |(_, name)| name)
    }

    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        let named = Self::NAMES.iter().find(|(_, other)| *other == name);
        named.map(|(encoding, _)| *encoding)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(_, name)| *name)
    }
}

/// What ends the lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newline {
    /// There is none.
    None,
    /// `\n` everywhere.
    Lf,
    /// `\r\n` everywhere.
    CrLf,
    /// Both.
    Mixed,
}

impl Newline {
    /// What ends the lines of `text`.
    pub fn of(text: &[u8]) -> Self {
        let mut before = 0;
        let (mut lf, mut crlf) = (false, false);
        for byte in text {
            if *byte == b'\n' {
                match before == b'\r' {
                    true => crlf = true,
                    false => lf = true,
                }
            }
            before = *byte;
        }
        match (lf, crlf) {
            (false, false) => Newline::None,
            (true, false) => Newline::Lf,
            (false, true) => Newline::CrLf,
            (true, true) => Newline::Mixed,
        }
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Newline::None => "none",
            Newline::Lf => "lf",
            Newline::CrLf => "crlf",
            Newline::Mixed => "mixed",
        }
    }
}

/// Bytes as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// How the bytes are written.
    pub encoding: Encoding,
    /// Whether bytes that are no character of the encoding were replaced: [`encode`] does not
    /// give the same bytes back.
    pub is_lossy: bool,
}

/// Reads bytes as text; `None` if they are data.
///
/// A byte order mark decides; without one it is UTF-8. Bytes that are not are UTF-8 with flaws if
/// a longer character is among them, and Latin-1 if not. What has a zero byte, or other control
/// characters outside of UTF-8, is data.
pub fn decode(bytes: &[u8]) -> Option<Decoded<'_>> {
    if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        return wide(rest, u16::from_le_bytes, Encoding::Utf16Le);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        return wide(rest, u16::from_be_bytes, Encoding::Utf16Be);
    }
    if bytes.contains(&0) {
        return None;
    }
    let (bytes, encoding) = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => (rest, Encoding::Utf8Bom),
        None => (bytes, Encoding::Utf8),
    };
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Decoded {
            text: Cow::Borrowed(text),
            encoding,
            is_lossy: false,
        });
    }
    if bytes.iter().take(SNIFFED).any(|byte| is_control(*byte)) {
        return None;
    }
    let has_longer = bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    if has_longer || encoding == Encoding::Utf8Bom {
        return Some(Decoded {
            text: String::from_utf8_lossy(bytes),
            encoding,
            is_lossy: true,
        });
    }
    Some(Decoded {
        text: Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
        encoding: Encoding::Latin1,
        is_lossy: false,
    })
}

/// A control character that no text has.
fn is_control(byte: u8) -> bool {
    byte == 0x7F || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0C | 0x1B))
}

fn wide(
    bytes: &[u8],
    unit: impl Fn([u8; 2]) -> u16,
    encoding: Encoding,
) -> Option<Decoded<'static>> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    let decoded = Decoded {
        text: Cow::Owned(text),
        encoding,
        is_lossy: false,
    };
    (!decoded.text.contains('\0')).then_some(decoded)
}

/// A character that an encoding has no bytes for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{character}` (U+{:04X}) cannot be written as {}", u32::from(*.character), .encoding.as_str())]
pub struct Unencodable {
    /// The first of them.
    pub character: char,
    /// The encoding.
    pub encoding: Encoding,
}

/// Writes text as bytes, behind the byte order mark that the encoding has.
///
/// # Errors
///
/// [`Unencodable`] if the text has a character that Latin-1 lacks.
pub fn encode(text: &str, encoding: Encoding) -> Result<Vec<u8>, Unencodable> {
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    Ok(match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf8Bom => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
        Encoding::Utf16Le => units.flat_map(u16::to_le_bytes).collect(),
        Encoding::Utf16Be => units.flat_map(u16::to_be_bytes).collect(),
        Encoding::Latin1 => {
            let byte = |character: char| {
                u8::try_from(character).map_err(|_| Unencodable {
                    character,
                    encoding,
                })
            };
            text.chars().map(byte).collect::<Result<_, _>>()?
        }
    })
}

/// The media type of bytes that models may be shown as they are: images, and PDF.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let document = || bytes.starts_with(b"%PDF-").then_some("application/pdf");
    Attachment::image_type(bytes).or_else(document)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(bytes: &[u8]) -> String {
        match decode(bytes) {
            None => "data".to_owned(),
            Some(Decoded {
                text,
                encoding,
                is_lossy,
            }) => {
                let lossy = if is_lossy { " with flaws" } else { "" };
                format!(
                    "{}{lossy}, {}: {text:?}",
                    encoding.as_str(),
                    Newline::of(text.as_bytes()).as_str()
                )
            }
        }
    }

    #[test]
    fn what_bytes_are_is_told_by_their_mark_and_then_by_their_values() {
        let cases: &[&[u8]] = &[
            b"",
            b"plain\n",
            b"a\r\nb\r\n",
            b"a\r\nb\n",
            "h\u{e9}".as_bytes(),
            b"\xEF\xBB\xBFmarked",
            b"\xFF\xFEa\0\n\0",
            b"\xFE\xFF\0a\0\n",
            b"\xFF\xFEa",
            b"\xFF\xFE\x00\xD8a\0",
            b"caf\xE9\n",
            b"caf\xE9 and \xC3\xA9\n",
            b"zero\0byte",
            b"\x7FELF\x01\xFF",
            b"\x1B[1mbold\x1B[0m \xE9",
        ];
        let shown: Vec<_> = cases.iter().map(|bytes| shown(bytes)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        utf-8, none: ""
        utf-8, lf: "plain\n"
        utf-8, crlf: "a\r\nb\r\n"
        utf-8, mixed: "a\r\nb\n"
        utf-8, none: "hé"
        utf-8-bom, none: "marked"
        utf-16le, lf: "a\n"
        utf-16be, lf: "a\n"
        data
        data
        latin-1, lf: "café\n"
        utf-8 with flaws, lf: "caf� and é\n"
        data
        data
        latin-1, none: "\u{1b}[1mbold\u{1b}[0m é"
        "#);
    }

    #[test]
    fn latin_1_has_no_bytes_for_what_lies_outside() {
        let error = encode("1 \u{20ac}", Encoding::Latin1).unwrap_err();
        insta::assert_snapshot!(error, @"`€` (U+20AC) cannot be written as latin-1");
    }

    proptest! {
        #[test]
        fn what_was_read_without_loss_is_written_back_as_it_was(bytes: Vec<u8>, mark in 0_usize..4) {
            let marks: [&[u8]; 4] = [b"", b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"];
            let bytes = [marks[mark], bytes.as_slice()].concat();
            if let Some(decoded) = decode(&bytes)
                && !decoded.is_lossy
            {
                prop_assert_eq!(encode(&decoded.text, decoded.encoding).unwrap(), bytes);
            }
        }

        #[test]
        fn text_survives_every_encoding_that_has_its_characters(text: String) {
            for (encoding, _) in Encoding::NAMES {
                let Ok(bytes) = encode(&text, *encoding) else { continue };
                if text.contains('\0') || text.is_ascii() || *encoding == Encoding::Latin1 {
                    continue;
                }
                // A text that begins with a mark of its own loses it, as everywhere.
                if *encoding == Encoding::Utf8 && text.starts_with('\u{feff}') {
                    continue;
                }
                let decoded = decode(&bytes).unwrap();
                prop_assert_eq!((&*decoded.text, decoded.encoding), (text.as_str(), *encoding));
            }
        }
    }
}
