//! `panto extension list`.

use std::fmt::Write;

use panto_host::compose::{ComposeError, GRACE};
use panto_host::host::{Extension, ExtensionStatus};
use panto_host::rocks::{InstalledRock, RockName, RocksTree};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::args::{CommonArgs, ListArgs};
use crate::compose::Composition;
use crate::failure::{Exit, Failure};
use crate::place::{Place, own};
use crate::signals::leave;
use crate::streams;

/// Lists the extensions and the rocks. What is wrong with them is on standard error.
pub(super) fn run(args: &ListArgs, common: &CommonArgs) -> Result<(), Failure> {
    let place = Place::find_for(common, &args.host)?;
    own(async |agents: Handle| {
        let composition = Composition::prepare(place, common, &args.host, agents)?;
        let found = composition.find();
        let host = composition.composer.host(&found);
        let mut host = host.map_err(ComposeError::from)?;
        host.load(&found.sources).await;
        let extensions = host.extensions();
        let remains = host.end(GRACE).await;
        show(&extensions, &Rocks::find(&composition)?, args.json)?;
        leave(Exit::Done, Some(remains));
        Ok(())
    })
}

fn show(extensions: &[Extension], rocks: &Rocks, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let extensions: Vec<_> = extensions.iter().map(extension_json).collect();
        streams::print_json(&json!({ "extensions": extensions, "rocks": rocks.to_json() }))
    } else {
        let mut text = String::from("extensions:\n");
        let lines: Vec<_> = extensions.iter().map(extension_line).collect();
        section(&mut text, &lines);
        text.push_str("rocks:\n");
        section(&mut text, &rocks.to_lines());
        streams::print_text(&text)
    }
}

/// An extension, whose it is, and what became of it.
pub(crate) fn extension_line(extension: &Extension) -> String {
    let status = match &extension.status {
        ExtensionStatus::Shadowed(by) => format!("`{}` is used instead", by.display()),
        ExtensionStatus::Denied => "left out by `[extensions]`".to_owned(),
        status => word(status).to_owned(),
    };
    let (name, layer, file) = (&extension.name, extension.layer, extension.file.display());
    format!("{name} ({layer}): {status}; {file}")
}

fn word(status: &ExtensionStatus) -> &'static str {
    match status {
        ExtensionStatus::Active => "active",
        ExtensionStatus::Shadowed(_) => "shadowed",
        ExtensionStatus::Denied => "denied",
        ExtensionStatus::Failed(_) => "failed",
        _ => "unknown",
    }
}

fn extension_json(extension: &Extension) -> Value {
    let (used, error) = match &extension.status {
        ExtensionStatus::Shadowed(by) => (Some(by.to_string_lossy()), None),
        ExtensionStatus::Failed(why) => (None, Some(why)),
        _ => (None, None),
    };
    json!({
        "name": extension.name,
        "layer": extension.layer.as_str(),
        "status": word(&extension.status),
        "file": extension.file.to_string_lossy(),
        "used_instead": used,
        "error": error,
    })
}

fn section(text: &mut String, lines: &[String]) {
    let none = ["none".to_owned()];
    for line in if lines.is_empty() { &none } else { lines } {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {line}");
    }
}

/// The rocks that are installed, and those that the configuration names.
struct Rocks {
    installed: Vec<InstalledRock>,
    /// By their own names.
    configured: Vec<String>,
}

impl Rocks {
    fn find(composition: &Composition) -> Result<Self, Failure> {
        let installed = match &composition.composer.rocks {
            Some(tree) => installed(tree)?,
            None => Vec::new(),
        };
        let configured = composition.composer.config.extensions.rocks.iter();
        let configured = configured.filter_map(|rock| rock.parse::<RockName>().ok());
        Ok(Self {
            installed,
            configured: configured.map(|rock| rock.name().to_owned()).collect(),
        })
    }

    fn missing(&self) -> impl Iterator<Item = &str> {
        let is_there = |name: &str| self.installed.iter().any(|rock| rock.name == name);
        let names = self.configured.iter().map(String::as_str);
        names.filter(move |name| !is_there(name))
    }

    fn to_lines(&self) -> Vec<String> {
        let installed = self.installed.iter().map(|rock| {
            let is_used = self.configured.contains(&rock.name);
            let more = if is_used {
                ": in `extensions.rocks`"
            } else {
                ""
            };
            format!("{} {}{more}", rock.name, rock.version)
        });
        let missing = self
            .missing()
            .map(|name| format!("{name}: not installed; `panto extension update` installs it"));
        installed.chain(missing).collect()
    }

    fn to_json(&self) -> Vec<Value> {
        let installed = self.installed.iter().map(|rock| {
            let is_used = self.configured.contains(&rock.name);
            json!({ "name": rock.name, "version": rock.version, "configured": is_used })
        });
        let missing = self.missing();
        let missing =
            missing.map(|name| json!({ "name": name, "version": null, "configured": true }));
        installed.chain(missing).collect()
    }
}

fn installed(tree: &RocksTree) -> Result<Vec<InstalledRock>, Failure> {
    tree.installed().map_err(|error| {
        let what = format!("could not read the rocks in `{}`", tree.root().display());
        Failure::new(Exit::Usage, "config", error).context(what)
    })
}
