//! The list `extensions.rocks` in a configuration file, changed without touching the rest.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, RawString, Table, TableLike, TomlError, Value};

/// Why a configuration file could not be changed. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It could not be read or written.
    #[error("could not change `{0}`")]
    File(PathBuf, #[source] io::Error),
    /// It is no TOML.
    #[error("could not change `{0}`")]
    Syntax(PathBuf, #[source] TomlError),
    /// `extensions.rocks` is something else than a list of texts.
    #[error("`extensions.rocks` in `{0}` is no list of texts in quotes")]
    NoList(PathBuf),
}

/// Adds a rock to the list, at its end; gives whether it was not there. The file, and the
/// directories above it, are made if they are not there.
///
/// # Errors
///
/// [`EditError`].
pub fn add_to_list(file: &Path, rock: &str) -> Result<bool, EditError> {
    change(file, |rocks| {
        let has = rocks.iter().any(|value| value.as_str() == Some(rock));
        if !has {
            push(rocks, rock);
        }
        !has
    })
}

/// Takes a rock from the list; gives whether it was there.
///
/// # Errors
///
/// [`EditError`].
pub fn remove_from_list(file: &Path, rock: &str) -> Result<bool, EditError> {
    if !file.exists() {
        return Ok(false);
    }
    change(file, |rocks| remove(rocks, rock))
}

fn change(file: &Path, change: impl FnOnce(&mut Array) -> bool) -> Result<bool, EditError> {
    let failed = |error| EditError::File(file.to_owned(), error);
    // A link stays one.
    let real = match file.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.to_owned(),
        Err(error) => return Err(failed(error)),
    };
    let text = match fs::read_to_string(&real) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| EditError::Syntax(file.to_owned(), error))?;
    let rocks = list(document.as_table_mut());
    let rocks = rocks.ok_or_else(|| EditError::NoList(file.to_owned()))?;
    if !change(rocks) {
        return Ok(false);
    }
    write(&real, &document.to_string()).map_err(failed)?;
    Ok(true)
}

/// The list, which is made if it is not there.
fn list(root: &mut Table) -> Option<&mut Array> {
    let extensions = root
        .entry("extensions")
        .or_insert_with(|| Item::Table(Table::new()));
    let extensions: &mut dyn TableLike = extensions.as_table_like_mut()?;
    let rocks = extensions
        .entry("rocks")
        .or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let rocks = rocks.as_array_mut()?;
    let are_texts = rocks.iter().all(Value::is_str);
    are_texts.then_some(rocks)
}

/// Adds an item in the way in which the last one stands, and keeps comments where they are.
fn push(rocks: &mut Array, rock: &str) {
    let mut value = Value::from(rock);
    let length = rocks.len();
    let Some(last) = length.checked_sub(1).and_then(|at| rocks.get_mut(at)) else {
        rocks.push(value);
        return;
    };
    let before = text(last.decor().prefix());
    let behind = text(last.decor().suffix());
    last.decor_mut().set_suffix("");
    if let Some((_, indent)) = before.rsplit_once('\n') {
        // What stands between the last item and the end belongs to that item.
        let rest = behind + &text(Some(rocks.trailing()));
        let (kept, end) = rest.rsplit_once('\n').unwrap_or(("", ""));
        value.decor_mut().set_prefix(format!("{kept}\n{indent}"));
        rocks.push_formatted(value);
        rocks.set_trailing(format!("\n{end}"));
        rocks.set_trailing_comma(true);
    } else {
        value.decor_mut().set_prefix(" ");
        value.decor_mut().set_suffix(behind);
        rocks.push_formatted(value);
    }
}

/// Takes an item away with what stands behind it on its line, and keeps what stands before it.
fn remove(rocks: &mut Array, rock: &str) -> bool {
    let Some(at) = rocks.iter().position(|value| value.as_str() == Some(rock)) else {
        return false;
    };
    let removed = rocks.remove(at);
    let before = text(removed.decor().prefix());
    let trailing = text(removed.decor().suffix()) + &text(Some(rocks.trailing()));
    match rocks.get_mut(at) {
        Some(next) => {
            let joined = joined(&before, &text(next.decor().prefix()), at == 0);
            next.decor_mut().set_prefix(joined);
        }
        None if before.contains('#') && !trailing.contains('\n') => {
            rocks.set_trailing(joined(&before, "\n", false));
        }
        None => rocks.set_trailing(joined(&before, &trailing, false)),
    }
    true
}

/// What stood before an item and what stood behind it, without the item.
fn joined(before: &str, behind: &str, is_first: bool) -> String {
    match (before.rsplit_once('\n'), behind.find('\n')) {
        (Some((kept, _)), Some(line_end)) => format!("{kept}{}", &behind[line_end..]),
        (None, Some(line_end)) => behind[line_end..].to_owned(),
        (Some(_), None) => before.to_owned(),
        (None, None) if is_first => before.to_owned(),
        (None, None) => behind.to_owned(),
    }
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Replaces the file whole, with the mode that it had.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let mut staged = tempfile::NamedTempFile::new_in(dir)?;
    staged.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(file) {
        staged.as_file().set_permissions(metadata.permissions())?;
    }
    staged.as_file().sync_data()?;
    staged.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> String {
        changed(text, |file| add_to_list(file, "new"))
    }

    fn removed(text: &str) -> String {
        changed(text, |file| remove_from_list(file, "old"))
    }

    fn changed(text: &str, change: impl Fn(&Path) -> Result<bool, EditError>) -> String {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("config.toml");
        fs::write(&file, text).unwrap();
        let changed = change(&file).unwrap();
        let after = fs::read_to_string(&file).unwrap();
        assert_eq!(changed, after != text);
        after.parse::<DocumentMut>().expect("it is TOML still");
        after
    }

    #[test]
    fn a_list_is_made_where_none_is() {
        assert_eq!(added(""), "[extensions]\nrocks = [\"new\"]\n");
        assert_eq!(
            added("# mine\nmodel = \"a:b\" # the best\n"),
            "# mine\nmodel = \"a:b\" # the best\n\n[extensions]\nrocks = [\"new\"]\n"
        );
        assert_eq!(
            added("extensions.deny = [\"x\"]\n"),
            "extensions.deny = [\"x\"]\nextensions.rocks = [\"new\"]\n"
        );
    }

    #[test]
    fn items_and_comments_stay() {
        assert_eq!(
            added("extensions.rocks = [\"new\"]\n"),
            "extensions.rocks = [\"new\"]\n"
        );
        assert_eq!(
            added("extensions = { rocks = [ \"old\" ] } # x\n"),
            "extensions = { rocks = [ \"old\", \"new\" ] } # x\n"
        );
        assert_eq!(
            added("[extensions]\nrocks = [\n  # first\n  \"old\", # of old\n]\n# end\n"),
            "[extensions]\nrocks = [\n  # first\n  \"old\", # of old\n  \"new\",\n]\n# end\n"
        );
        assert_eq!(
            added("[extensions]\nrocks = [\n  \"old\" # of old\n]\n"),
            "[extensions]\nrocks = [\n  \"old\", # of old\n  \"new\",\n]\n"
        );
        assert_eq!(
            removed("[extensions]\nrocks = [\n  \"a\", # of a\n  \"old\", # of old\n  \"b\",\n]\n"),
            "[extensions]\nrocks = [\n  \"a\", # of a\n  \"b\",\n]\n"
        );
        assert_eq!(
            removed("extensions.rocks = [\"old\", \"b\"]\n"),
            "extensions.rocks = [\"b\"]\n"
        );
        assert_eq!(
            removed(
                "extensions.rocks = [\n  # one\n  \"a\", # of a\n  # two\n  \"old\" # of old\n]\n"
            ),
            "extensions.rocks = [\n  # one\n  \"a\" # of a\n  # two\n]\n"
        );
        assert_eq!(
            removed("extensions.rocks = [\n  \"old\",\n]\n"),
            "extensions.rocks = [\n]\n"
        );
        assert_eq!(
            removed("extensions.rocks = [ \"a\", \"old\" ]\n"),
            "extensions.rocks = [ \"a\" ]\n"
        );
        assert_eq!(
            removed("extensions.rocks = [\"old\"] # x\n"),
            "extensions.rocks = [] # x\n"
        );
        assert_eq!(
            removed("extensions.rocks = [\"b\"]\n"),
            "extensions.rocks = [\"b\"]\n"
        );
    }

    #[test]
    fn what_is_no_list_is_left_alone() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("config.toml");
        for text in [
            "extensions.rocks = 1",
            "extensions = 1",
            "extensions.rocks = [1]",
            "[",
        ] {
            fs::write(&file, text).unwrap();
            assert!(add_to_list(&file, "new").is_err(), "{text}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert!(!remove_from_list(&dir.path().join("none"), "x").unwrap());
    }
}
