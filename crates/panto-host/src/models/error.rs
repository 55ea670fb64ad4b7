//! Why no model could be chosen, in words for people.

use std::fmt;
use std::path::PathBuf;

use pantograph::ModelRef;

use super::{ProtocolError, UNLISTED_CONTEXT_WINDOW, UNLISTED_MAX_OUTPUT};
use crate::config::{REASONING, Source, key_path, listed, shown, some};
use crate::nearest::did_you_mean;

/// Why no model could be chosen; nothing was opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// Neither the command line nor any layer names a model.
    #[error("no model is set; {}", no_model(.user_file.as_ref(), .models))]
    NoModel {
        /// The file of the user's layer, where a model could be set.
        user_file: Option<PathBuf>,
        /// The models that the configuration lists.
        models: Vec<String>,
    },
    /// The text is no model reference.
    #[error(
        "`{}` (from {by}) is not a model; write it as `provider:alias`{}",
        shown(.text),
        .suggestion.as_ref().map(|model| format!(", here `{model}`")).unwrap_or_default()
    )]
    BadReference {
        /// What was written.
        text: String,
        /// Where.
        by: ChosenBy,
        /// The model that exactly one provider lists under that alias.
        suggestion: Option<ModelRef>,
    },
    /// No layer has the provider.
    #[error("unknown provider `{name}` (from {by}); {}{near}", known(.providers, .files))]
    UnknownProvider {
        /// The provider.
        name: String,
        /// Where it was named.
        by: ChosenBy,
        /// What was probably meant: empty, or a clause.
        near: String,
        /// The providers that there are.
        providers: Vec<String>,
        /// The files that were read.
        files: Vec<PathBuf>,
    },
    /// The provider does not say how it is reached.
    #[error(
        "provider `{provider}` ({set_at}) has no `protocol`; set it to one of {}",
        listed(.known)
    )]
    NoProtocol {
        /// The provider.
        provider: String,
        /// Where it is set.
        set_at: Source,
        /// The protocols that there are.
        known: Vec<String>,
    },
    /// There is no such protocol.
    #[error(
        "provider `{provider}` has the unknown protocol `{}` ({set_at}); there are {}{}",
        shown(.protocol),
        listed(.known),
        did_you_mean(.protocol, .known.iter().map(String::as_str))
    )]
    UnknownProtocol {
        /// The provider.
        provider: String,
        /// The protocol.
        protocol: String,
        /// Where it is set.
        set_at: Source,
        /// The protocols that there are.
        known: Vec<String>,
    },
    /// The protocol cannot serve the provider as it is configured.
    #[error("could not set up the protocol `{protocol}` for provider `{provider}` ({set_at})")]
    Protocol {
        /// The provider.
        provider: String,
        /// The protocol.
        protocol: String,
        /// Where the provider is set.
        set_at: Source,
        /// What is wrong.
        #[source]
        cause: ProtocolError,
    },
    /// There is no such label.
    #[error(
        "unknown reasoning label `{}` (from {by}); the labels are {}{near}",
        shown(.label),
        listed(REASONING)
    )]
    UnknownReasoning {
        /// The label.
        label: String,
        /// Where it was named.
        by: ChosenBy,
        /// What was probably meant: empty, or a clause.
        near: String,
    },
    /// The model's list does not have the label.
    #[error(
        "model `{model}` does not take the reasoning label `{label}` (from {by}); {}",
        takes(.known, .listed)
    )]
    Reasoning {
        /// The model.
        model: ModelRef,
        /// The label.
        label: String,
        /// Where it was named.
        by: ChosenBy,
        /// The labels that the model takes.
        known: Vec<String>,
        /// Where those are listed.
        listed: Box<Source>,
    },
}

/// What the person should hear about a choice that was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceWarning {
    /// The provider is known, but does not list the model.
    #[error(
        "no configuration lists the model `{model}`; taken with a context window of \
         {UNLISTED_CONTEXT_WINDOW} tokens and answers of at most {UNLISTED_MAX_OUTPUT}; \
         to set its limits, add `[{}]`{near}",
        table(.model)
    )]
    Unlisted {
        /// The model.
        model: ModelRef,
        /// What was probably meant: empty, or a clause.
        near: String,
    },
}

/// Who chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenBy {
    /// An option of the command line, with its dashes.
    CommandLine(&'static str),
    /// A layer of the configuration.
    Config(Box<Source>),
}

impl fmt::Display for ChosenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChosenBy::CommandLine(option) => write!(f, "`{option}`"),
            ChosenBy::Config(source) => source.fmt(f),
        }
    }
}

fn no_model(user_file: Option<&PathBuf>, models: &[String]) -> String {
    let file = match user_file {
        Some(file) => format!("`{}`", file.display()),
        None => "a file that you give with `--config`".to_owned(),
    };
    let configured = match models {
        [] => "no model is configured yet".to_owned(),
        models => format!("configured: {}", some(models)),
    };
    let begin = match models {
        [] => {
            "; it also takes a provider (docs/configuration.md shows how), and `panto demo` needs neither"
        }
        _ => "",
    };
    format!(
        "name one with `--model provider:alias`, or write `model = \"provider:alias\"` into \
         {file} ({configured}){begin}"
    )
}

fn known(providers: &[String], files: &[PathBuf]) -> String {
    let read = match files {
        [] => "no configuration file was found".to_owned(),
        files => format!("read {}", listed(files.iter().map(|file| file.display()))),
    };
    match providers {
        [] => format!("no provider is configured ({read}); add one under `[providers]`"),
        providers => format!("configured: {} ({read})", some(providers)),
    }
}

fn takes(known: &[String], source: &Source) -> String {
    match known {
        [] => format!("its list is empty ({source})"),
        known => format!(
            "it takes {} ({source}); choose with `--reasoning`",
            listed(known)
        ),
    }
}

/// The table that would list the model.
fn table(model: &ModelRef) -> String {
    let path = ["providers", model.provider(), "models", model.alias()];
    key_path(&path.map(str::to_owned))
}
