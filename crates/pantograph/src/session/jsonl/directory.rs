//! The name of the directory that holds the sessions of one working directory.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

/// The longest file name that common file systems take, in bytes.
const MAX_BYTES: usize = 255;

/// Makes a working directory's path one file name: readable, legal everywhere, and different for
/// every path.
///
/// `/` becomes `+`; letters and digits of any script and `-`, `_`, `.`, `,`, `@` stay; each byte of
/// anything else becomes `%XX`, and so does a dot at either end. No bytes at all are `%`. What
/// would exceed 255 bytes is cut, and `%-` and the SHA-256 of the path follow.
///
/// ```
/// use pantograph::session::directory_name;
/// use std::path::Path;
///
/// assert_eq!(directory_name(Path::new("/home/ann/my-app")), "+home+ann+my-app");
/// assert_eq!(directory_name(Path::new(r"C:\x y")), "C%3A%5Cx%20y");
/// ```
pub fn directory_name(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.is_empty() {
        return "%".to_owned();
    }
    let mut name = String::with_capacity(bytes.len() + 8);
    // Where the name can be cut so that the hash still fits: never inside an escape.
    let mut cut = 0;
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let end = at + character.len_utf8();
            let at_an_end = at == 0 || end == bytes.len();
            push(&mut name, character, &bytes[at..end], at_an_end);
            at = end;
            note_cut(&mut cut, name.len());
        }
        for &byte in chunk.invalid() {
            escape(&mut name, &[byte]);
            at += 1;
            note_cut(&mut cut, name.len());
        }
    }
    if name.len() > MAX_BYTES {
        name.truncate(cut);
        name.push_str("%-");
        name.push_str(&hex(&Sha256::digest(bytes)));
    }
    name
}

/// Bytes as lower-case hexadecimal text.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn push(name: &mut String, character: char, bytes: &[u8], at_an_end: bool) {
    match character {
        '/' => name.push('+'),
        '.' if at_an_end => escape(name, bytes),
        '-' | '_' | '.' | ',' | '@' => name.push(character),
        _ if character.is_alphanumeric() => name.push(character),
        _ => escape(name, bytes),
    }
}

fn escape(name: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(name, "%{byte:02X}");
    }
}

fn note_cut(cut: &mut usize, length: usize) {
    const HASH_BYTES: usize = 2 + 64;
    if length <= MAX_BYTES - HASH_BYTES {
        *cut = length;
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    use super::*;

    fn name(bytes: &[u8]) -> String {
        directory_name(Path::new(OsStr::from_bytes(bytes)))
    }

    #[test]
    fn names_stay_readable() {
        let paths: &[&[u8]] = &[
            b"",
            b".",
            b"..",
            b"/",
            b"/home/ann/my-app.v2",
            b"/home/ann/+x",
            b"/home/ann/x.",
            "/家/größe".as_bytes(),
            br"C:\x y",
            br"\\srv\s",
            b"a:b*?",
            b"a\nb\0",
            b"/a\xff",
        ];
        let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
        insta::assert_snapshot!(names.join("\n"), @r"
        %
        %2E
        %2E%2E
        +
        +home+ann+my-app.v2
        +home+ann+%2Bx
        +home+ann+x%2E
        +家+größe
        C%3A%5Cx%20y
        %5C%5Csrv%5Cs
        a%3Ab%2A%3F
        a%0Ab%00
        +a%FF
        ");
    }

    #[test]
    fn long_paths_end_in_their_hash() {
        let long = format!("/{}", "é ".repeat(200));
        let cut = name(long.as_bytes());
        assert!(cut.len() <= MAX_BYTES, "{}", cut.len());
        assert!(cut.starts_with("+é%20é"));
        assert_ne!(cut, name(format!("{long}x").as_bytes()));
    }

    /// Undoes the escapes: that this gives the path back proves that no two paths share a name.
    fn undo(name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = name.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            rest = tail;
            match first {
                b'%' if tail.is_empty() => {}
                b'%' => {
                    let digits = std::str::from_utf8(&tail[..2]).unwrap();
                    bytes.push(u8::from_str_radix(digits, 16).unwrap());
                    rest = &tail[2..];
                }
                b'+' => bytes.push(b'/'),
                _ => bytes.push(first),
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn every_path_has_a_legal_name_of_its_own(path in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            r#"[a-b/.+%\\: -]{0,12}"#.prop_map(String::into_bytes),
            "\\PC{0,100}".prop_map(String::into_bytes),
        ]) {
            let name = name(&path);
            prop_assert!(!name.is_empty() && name.len() <= MAX_BYTES);
            prop_assert!(name != "." && name != "..");
            prop_assert!(!name.contains(['/', '\\', '\0', ':', '*', '?', '\n', ' ']));
            if name.contains("%-") {
                prop_assert!(name.ends_with(&hex(&Sha256::digest(&path))));
            } else {
                prop_assert_eq!(undo(&name), path);
            }
        }
    }
}
