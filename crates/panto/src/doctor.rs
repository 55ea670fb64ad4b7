//! `panto doctor`: what is configured, what is found, and what is wrong with it.

use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};

use panto_host::compose::{ComposeError, GRACE};
use panto_host::extensions::{Diagnostic, Level};
use panto_host::host::Host;
use panto_host::models::KeyState;
use pantograph::with_causes;
use tokio::runtime::Handle;

use crate::args::{CommonArgs, DoctorArgs};
use crate::compose::Composition;
use crate::extension::extension_line;
use crate::failure::{Exit, Failure};
use crate::place::{Place, own};
use crate::signals::leave;
use crate::streams;

/// Says everything; gives 2 if something is wrong.
///
/// # Errors
///
/// The configuration cannot be read, or Lua cannot be started.
pub(crate) fn run(args: &DoctorArgs, common: &CommonArgs) -> Result<Exit, Failure> {
    let place = Place::find_for(common, &args.host)?;
    own(async |agents: Handle| {
        let mut composition = Composition::prepare(place, common, &args.host, agents)?;
        // They stand on the page.
        let (telling, told) = mpsc::channel();
        composition.composer.report = Arc::new(move |diagnostic: &Diagnostic| {
            // Whoever hears of it is there until the end.
            let _ = telling.send(diagnostic.clone());
        });
        let found = composition.find();
        let mut host = composition
            .composer
            .host(&found)
            .map_err(ComposeError::from)?;
        host.load(&found.sources).await;
        composition.composer.check_names(&host);
        let mut page = Page::default();
        page.place(&composition);
        page.model(&composition, &host);
        page.providers(&composition);
        page.extensions(&host, told.try_iter());
        page.paths(&composition);
        let remains = host.end(GRACE).await;
        streams::print_text(&page.text)?;
        let exit = match page.problems {
            0 => Exit::Done,
            _ => Exit::Usage,
        };
        Ok(leave(exit, Some(remains)))
    })
}

#[derive(Default)]
struct Page {
    text: String,
    problems: usize,
}

impl Page {
    fn line(&mut self, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{text}");
    }

    /// Something wrong, and what to do about it.
    fn problem(&mut self, text: impl std::fmt::Display) {
        self.problems += 1;
        self.line(format_args!("  problem: {text}"));
    }

    fn place(&mut self, composition: &Composition) {
        let place = &composition.place;
        self.line(format_args!("project: {}", place.root.display()));
        let has_layer = place.root.join(".panto").symlink_metadata().is_ok();
        self.line(match (&place.bundle, place.trusted) {
            (Some(dir), _) => format!("  bundle: {}", dir.display()),
            (None, true) => "  trusted".to_owned(),
            (None, false) if !has_layer => "  brings nothing of its own".to_owned(),
            (None, false) => "  not trusted; `panto trust` trusts it".to_owned(),
        });
        self.line("configuration:");
        for file in &composition.composer.config.files {
            self.line(format_args!("  {}", file.display()));
        }
        if composition.composer.config.files.is_empty() {
            let user = composition.composer.config.user_file.as_deref();
            let user = user.map_or("nowhere".to_owned(), |file| file.display().to_string());
            self.line(format_args!("  no file; yours would be {user}"));
        }
    }

    fn model(&mut self, composition: &Composition, host: &Host) {
        self.line("model:");
        let chosen = composition
            .composer
            .models
            .choose(&panto_host::ChoiceRequest::default());
        match chosen {
            Ok(chosen) => {
                self.line(format_args!("  {}", chosen.model.reference));
                if let Err(error) = composition.composer.find_protocols(host) {
                    self.problem(with_causes(&error));
                }
            }
            Err(error) => self.problem(Failure::from(error).to_line()),
        }
    }

    fn providers(&mut self, composition: &Composition) {
        self.line("providers:");
        let mut without = Vec::new();
        for offered in composition.composer.models.offered() {
            let key = match &offered.key {
                KeyState::Found(source) => format!("key from {source}"),
                KeyState::NotNeeded => "needs no key".to_owned(),
                KeyState::Missing => {
                    if offered.is_configured {
                        "no key".to_owned()
                    } else {
                        without.push(offered.name);
                        continue;
                    }
                }
            };
            let is_missing = matches!(offered.key, KeyState::Missing);
            let count = offered.models.len();
            self.line(format_args!(
                "  {}: {key}, {count} models listed",
                offered.name
            ));
            if is_missing {
                self.problem(format_args!(
                    "`{0}` is configured and has no key: `panto login {0}`, or set `api_key_env`",
                    offered.name
                ));
            }
        }
        if !without.is_empty() {
            self.line(format_args!("  without a key: {}", without.join(", ")));
        }
    }

    fn extensions(&mut self, host: &Host, diagnostics: impl Iterator<Item = Diagnostic>) {
        self.line("extensions:");
        let extensions = host.extensions();
        if extensions.is_empty() {
            self.line("  none");
        }
        for extension in &extensions {
            self.line(format_args!("  {}", extension_line(extension)));
        }
        for diagnostic in diagnostics {
            match diagnostic.level {
                Level::Error | Level::Warning => self.problem(diagnostic),
                Level::Info => self.line(format_args!("  note: {diagnostic}")),
            }
        }
    }

    fn paths(&mut self, composition: &Composition) {
        self.line("places:");
        let place = &composition.place;
        match place.session_directory() {
            Ok(dir) => self.place_of("sessions", &dir),
            Err(failure) => self.problem(failure.to_line()),
        }
        match place.dirs.data_home() {
            Ok(dir) => self.place_of("data", dir),
            Err(error) => self.problem(with_causes(&error)),
        }
        if let Some(rocks) = &composition.composer.rocks {
            self.place_of("rocks", rocks.root());
        }
        self.line(format_args!("  lua: {}", panto_runtime::LUA_RELEASE));
    }

    fn place_of(&mut self, name: &str, dir: &Path) {
        let state = match dir.metadata() {
            Ok(metadata) if metadata.is_dir() => "",
            Ok(_) => {
                return self.problem(format_args!(
                    "{name}: `{}` is no directory; move it away",
                    dir.display()
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => " (not there yet)",
            Err(error) => {
                return self.problem(format_args!(
                    "{name}: `{}` cannot be used: {error}",
                    dir.display()
                ));
            }
        };
        self.line(format_args!("  {name}: {}{state}", dir.display()));
    }
}
