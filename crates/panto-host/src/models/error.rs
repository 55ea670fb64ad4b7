//! Why no model could be chosen, in words for people.

use std::fmt;
use std::path::PathBuf;

use pantograph::ModelRef;
use pantograph_providers::{BaseUrl, InvalidBaseUrl, catalog};

use super::{LOCAL_PROVIDER, ProtocolError, UNLISTED_CONTEXT_WINDOW, UNLISTED_MAX_OUTPUT};
use crate::config::{REASONING, Source, key_path, listed, shown, some};
use crate::nearest::did_you_mean;

/// Why no model could be chosen; nothing was opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// Neither the command line nor any layer names a model, and there is no key to choose by.
    #[error(
        "no model is set, and there is no key to choose one by: {}",
        looked(.variables, .key_file.as_ref())
    )]
    NoModel {
        /// The file of the user's layer, where a model could be set.
        user_file: Option<PathBuf>,
        /// The models that the configuration lists.
        models: Vec<String>,
        /// The environment variables that were looked at.
        variables: Vec<String>,
        /// The file that was looked at for a key.
        key_file: Option<PathBuf>,
    },
    /// The text names no model of a provider that can be asked.
    #[error(
        "`{}` (from {by}) is not a model of a provider that is configured or has a key; \
         write it as `provider:alias`{}",
        shown(.text),
        such_as(.near)
    )]
    BadReference {
        /// What was written.
        text: String,
        /// Where.
        by: ChosenBy,
        /// What was probably meant.
        near: Vec<String>,
    },
    /// The text has a colon, and nothing on one side of it.
    #[error(
        "`{}` (from {by}) names no {lacks}; write it as `provider:alias`{}",
        shown(.text),
        such_as(.near)
    )]
    Half {
        /// What was written.
        text: String,
        /// Where.
        by: ChosenBy,
        /// What is missing: `model` or `provider`.
        lacks: &'static str,
        /// What it may be.
        near: Vec<String>,
    },
    /// The text may mean one of several models.
    #[error(
        "`{}` (from {by}) may be any of {}; write more of the name{}",
        shown(.text),
        some(.models),
        exactly(.text)
    )]
    Ambiguous {
        /// What was written.
        text: String,
        /// Where.
        by: ChosenBy,
        /// What it may mean.
        models: Vec<String>,
    },
    /// A place is given, and no model.
    #[error("`--base-url` says where a model is reached, and needs `--model NAME` to say which")]
    BaseUrlAlone,
    /// What `--base-url` gives is no place that a model can be reached at.
    #[error("`--base-url` cannot be used")]
    BaseUrl(#[source] InvalidBaseUrl),
    /// Neither the catalog nor any layer has the provider.
    #[error(
        "unknown provider `{name}` (from {by}); {}{near}",
        known(.configured, .files)
    )]
    UnknownProvider {
        /// The provider.
        name: String,
        /// Where it was named.
        by: ChosenBy,
        /// What was probably meant: empty, or a clause.
        near: String,
        /// The providers of the configuration.
        configured: Vec<String>,
        /// The files that were read.
        files: Vec<PathBuf>,
    },
    /// The provider does not say how it is reached.
    #[error(
        "provider `{provider}` ({set_at}) has neither a `base_url` nor a `protocol`; set the first, \
         or the second to one of {}",
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
        "neither the catalog nor a configuration lists the model `{model}`; taken with a context window of \
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
    /// A provider's key goes to a place that is not the provider's own.
    #[error(
        "the key of `{}` (from {key_source}) goes to `{place}`, as `--base-url` says{}",
        .model.provider(),
        without_key(.model, .written)
    )]
    KeyElsewhere {
        /// The model, with the provider whose key it is.
        model: ModelRef,
        /// What was written for it.
        written: String,
        /// Where the key is from.
        key_source: String,
        /// Where it goes.
        place: BaseUrl,
    },
    /// The configuration's label is not one that the model knows.
    #[error(
        "the model `{model}` does not know the reasoning label `{label}` (from {by}); \
         it gets `{taken}`, the nearest that it knows"
    )]
    NearestReasoning {
        /// The model.
        model: ModelRef,
        /// The label.
        label: String,
        /// Where it was named.
        by: ChosenBy,
        /// What the model gets.
        taken: String,
    },
    /// The model cannot be told how much to think.
    #[error("the model `{model}` takes no reasoning label; `{label}` (from {by}) is left out")]
    NoReasoning {
        /// The model.
        model: ModelRef,
        /// The label.
        label: String,
        /// Where it was named.
        by: ChosenBy,
    },
}

/// What panto chose by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceNote {
    /// Nobody named a model: the first provider with a key answers.
    #[error(
        "using {model} (key from {key_source}; choose another with `--model` or `model` in {})",
        config_file(.user_file.as_ref())
    )]
    ByKey {
        /// The model.
        model: ModelRef,
        /// Where its key is from.
        key_source: String,
        /// The file of the user's layer.
        user_file: Option<PathBuf>,
    },
    /// The project chose what the person pays for.
    #[error("using {model} (`model` of the project, {set_at}; choose another with `--model`)")]
    ByProject {
        /// The model.
        model: ModelRef,
        /// Where it is set.
        set_at: Source,
    },
    /// The model of the session cannot be asked; another answers.
    #[error(
        "the session's model `{}` cannot be asked ({why}); going on with {model}",
        shown(.session)
    )]
    InsteadOfSession {
        /// The session's model.
        session: String,
        /// Why it cannot be asked.
        why: String,
        /// What answers.
        model: ModelRef,
    },
    /// The model of the session is reached at another place than before.
    #[error("{model} was asked at `{}` in this session, and now is at `{to}`", shown(.from))]
    Moved {
        /// The model.
        model: ModelRef,
        /// Where it was.
        from: String,
        /// Where it is.
        to: String,
    },
    /// The person has listed other models of the server, of nearly this name.
    #[error("the configuration does not list the model `{model}`{near}")]
    NotAmong {
        /// The model.
        model: ModelRef,
        /// What was probably meant: a clause.
        near: String,
    },
    /// A part of a name was enough.
    #[error("`{}` is {model}", shown(.text))]
    ReadAs {
        /// What was written.
        text: String,
        /// The model.
        model: ModelRef,
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

impl ChooseError {
    /// What to do about it, if the message does not say so.
    pub fn hint(&self) -> Option<String> {
        let ChooseError::NoModel {
            user_file, models, ..
        } = self
        else {
            return None;
        };
        let file = config_file(user_file.as_ref());
        if !models.is_empty() {
            return Some(format!(
                "name a model with `--model`, or with `model = \"…\"` in {file}; configured: {}",
                some(models)
            ));
        }
        let first = catalog::providers().first()?;
        let variable = first.key_variables.first()?;
        Some(format!(
            "set a key, such as with `export {variable}=…` ({} has them) or `panto login {}`; a \
             server on this machine needs none: `--base-url http://127.0.0.1:8080/v1 --model NAME`; \
             `panto models --all` lists what there is, and `panto demo` needs nothing",
            first.key_page.unwrap_or_default(),
            first.name
        ))
    }
}

fn config_file(user_file: Option<&PathBuf>) -> String {
    match user_file {
        Some(file) => format!("`{}`", file.display()),
        None => "a file that you give with `--config`".to_owned(),
    }
}

fn looked(variables: &[String], key_file: Option<&PathBuf>) -> String {
    let variables = variables.join(", ");
    match key_file {
        Some(file) => format!(
            "none of {variables} is set, and `{}` has none",
            file.display()
        ),
        None => format!("none of {variables} is set"),
    }
}

fn such_as(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!(", such as {}", some(near)),
    }
}

/// How a model of exactly that name is asked, if the text has the form of one.
fn exactly(text: &str) -> String {
    match ModelRef::parse(text) {
        Ok(model) => format!(
            ", or list one of exactly this name under `[{}]`",
            table(&model)
        ),
        Err(_) => String::new(),
    }
}

fn known(configured: &[String], files: &[PathBuf]) -> String {
    let built_in = listed(catalog::providers().iter().map(|known| known.name));
    let read = match files {
        [] => "no configuration file was found".to_owned(),
        files => format!("read {}", listed(files.iter().map(|file| file.display()))),
    };
    match configured {
        [] => format!("there are {built_in}; others are added under `[providers]` ({read})"),
        configured => format!(
            "there are {built_in}; configured: {} ({read})",
            some(configured)
        ),
    }
}

/// How a model is asked whose own name reads as one of a provider.
fn without_key(model: &ModelRef, written: &str) -> String {
    if model.provider() == LOCAL_PROVIDER {
        return String::new();
    }
    let written = shown(written);
    format!(
        "; if a server there calls a model `{written}`, ask for it without a key: \
         `--model {LOCAL_PROVIDER}:{written}`"
    )
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
