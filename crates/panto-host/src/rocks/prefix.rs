//! The embedded Lua as an installation that `luarocks` can use: headers for modules in C, and an
//! interpreter that runs `panto lua`.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use panto_runtime::{LUA_HEADERS, LUA_RELEASE};

use crate::extensions::{ShippedFile, StageError, stage_at};

/// The installation could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrefixError {
    /// The headers could not.
    #[error(transparent)]
    Headers(#[from] StageError),
    /// The interpreter could not.
    #[error("could not write `{0}`")]
    Interpreter(PathBuf, #[source] io::Error),
}

/// Makes `<data home>/lua/<release>`, as far as it is not there, and gives it: `include` has the
/// headers of the embedded Lua, `bin/lua` runs `program lua`.
///
/// Each release has a directory of its own, and its headers appear whole.
///
/// # Errors
///
/// [`PrefixError`].
pub fn stage_prefix(data_home: &Path, program: &Path) -> Result<PathBuf, PrefixError> {
    let prefix = data_home.join("lua").join(LUA_RELEASE);
    stage_headers(data_home)?;
    let interpreter = prefix.join("bin").join("lua");
    let written = write_interpreter(&interpreter, program);
    written.map_err(|error| PrefixError::Interpreter(interpreter, error))?;
    Ok(prefix)
}

/// Makes the directory of the headers alone, and gives it.
///
/// # Errors
///
/// [`PrefixError`].
pub fn stage_headers(data_home: &Path) -> Result<PathBuf, PrefixError> {
    let include = data_home.join("lua").join(LUA_RELEASE).join("include");
    let headers = LUA_HEADERS.map(|(path, text)| ShippedFile { path, text });
    stage_at(&include, &headers)?;
    Ok(include)
}

/// Replaces the script if it is not as it should be: another panto may have written it.
fn write_interpreter(file: &Path, program: &Path) -> io::Result<()> {
    let mut script = b"#!/bin/sh\nexec '".to_vec();
    for byte in program.as_os_str().as_bytes() {
        match byte {
            b'\'' => script.extend_from_slice(b"'\\''"),
            byte => script.push(*byte),
        }
    }
    script.extend_from_slice(b"' lua \"$@\"\n");
    if fs::read(file).is_ok_and(|there| there == script) {
        return Ok(());
    }
    let dir = file.parent().unwrap_or(file);
    fs::create_dir_all(dir)?;
    let mut staged = tempfile::NamedTempFile::new_in(dir)?;
    staged.write_all(&script)?;
    let for_all = fs::Permissions::from_mode(0o755);
    staged.as_file().set_permissions(for_all)?;
    staged.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installation_is_whole_and_made_once() {
        let home = tempfile::TempDir::new().unwrap();
        let prefix = stage_prefix(home.path(), Path::new("/opt/it's/panto")).unwrap();
        let script = fs::read_to_string(prefix.join("bin/lua")).unwrap();
        assert_eq!(script, "#!/bin/sh\nexec '/opt/it'\\''s/panto' lua \"$@\"\n");
        let header = prefix.join("include/lua.h");
        assert_eq!(fs::read_to_string(&header).unwrap(), LUA_HEADERS[0].1);
        fs::write(&header, "mine").unwrap();
        stage_prefix(home.path(), Path::new("/usr/bin/panto")).unwrap();
        assert_eq!(fs::read_to_string(&header).unwrap(), "mine");
        let script = fs::read_to_string(prefix.join("bin/lua")).unwrap();
        assert_eq!(script, "#!/bin/sh\nexec '/usr/bin/panto' lua \"$@\"\n");
    }
}
