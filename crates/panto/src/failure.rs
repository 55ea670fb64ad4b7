//! What went wrong, in words for people, and what the process ends with.
//!
//! The one place that maps errors to exit codes; `docs/cli.md` lists the codes.

use std::fmt::Display;
use std::io::{self, Write};

use panto_host::credentials::{KeyError, StoreError};
use panto_host::headless::{RunError, sanitize};
use panto_host::models::ChooseError;
use pantograph::session::SessionError;
use pantograph::{ErrorClass, ProviderError, SessionId, TurnError, with_causes};

/// What the process ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    TurnFailed,
    Usage,
    CredentialsRefused,
    Interrupted,
    Terminated,
    HungUp,
    /// What a command says that the process ends with.
    Command(u8),
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::TurnFailed => 1,
            Exit::Usage => 2,
            Exit::CredentialsRefused => 3,
            // As shells say of a program that a signal ended: 128 and its number.
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::HungUp => 129,
            Exit::Command(code) => code,
        }
    }
}

/// Something that a person has to hear.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// One name for programs.
    pub(crate) kind: &'static str,
    error: anyhow::Error,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, kind: &'static str, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            kind,
            error: error.into(),
            hint: None,
        }
    }

    /// A mistake on the command line.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, "usage", anyhow::anyhow!("{message}"))
    }

    /// Something about the configuration.
    pub(crate) fn config(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::Usage, "config", error)
    }

    /// The output could not be written.
    pub(crate) fn output(error: io::Error) -> Self {
        let error = anyhow::Error::new(error).context("could not write the output");
        Self::new(Exit::TurnFailed, "output", error)
    }

    /// The same with what to do about it.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, but attempted as `context` says.
    pub(crate) fn context(mut self, context: impl Display + Send + Sync + 'static) -> Self {
        self.error = self.error.context(context);
        self
    }

    /// Writes the error, its causes and the hint, harmless for a terminal.
    ///
    /// Only they begin a line at their place: what they say is indented further, so that a
    /// provider's text cannot pass for a hint.
    pub(crate) fn report(&self, writer: &mut impl Write) -> io::Result<()> {
        let mut text = format!("error: {}\n", indented(&self.error.to_string()));
        let mut said = self.error.to_string();
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            // An error that is only wrapped says the same again.
            if !said.ends_with(&cause) {
                text.push_str(&format!("  cause: {}\n", indented(&cause)));
            }
            said = cause;
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("  hint: {}\n", indented(hint)));
        }
        writer.write_all(text.as_bytes())
    }

    /// The error with its causes and the hint on one line, for a warning.
    pub(crate) fn to_line(&self) -> String {
        let error = with_causes(self.error.as_ref());
        match &self.hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error,
        }
    }

    /// The same for programs.
    pub(crate) fn to_run_error(&self) -> RunError {
        let mut causes = self.error.chain();
        let provider = causes.find_map(|cause| cause.downcast_ref::<ProviderError>());
        RunError {
            kind: self.kind.to_owned(),
            message: with_causes(self.error.as_ref()),
            hint: self.hint.clone(),
            retry_after: provider.and_then(|error| error.retry_after),
            status: provider.and_then(|error| error.status),
        }
    }
}

/// The harmless form of a text whose first line has its place already; the others are indented.
/// What is too long is cut: text from outside has any length.
pub(crate) fn indented(text: &str) -> String {
    /// In characters.
    const LONGEST: usize = 10_000;
    let (text, rest) = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => (&text[..end], "…"),
        None => (text, ""),
    };
    let mut text = sanitize(text);
    text.push_str(rest);
    text.trim_end().replace('\n', "\n    ")
}

impl From<ChooseError> for Failure {
    /// No model could be chosen.
    fn from(error: ChooseError) -> Self {
        let hint = error.hint();
        let failure = Self::config(error);
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

impl From<SessionError> for Failure {
    /// A session that could not be found, opened or read.
    fn from(error: SessionError) -> Self {
        let hint = match &error {
            SessionError::NotFound { .. } => {
                "`panto sessions` lists those of this directory; --cwd DIR names another one"
                    .to_owned()
            }
            SessionError::Ambiguous { .. } => "give more of the id".to_owned(),
            SessionError::InUse {
                holder: Some(pid), ..
            } => format!(
                "wait until process {pid} is done with it, or end that process; without --continue or --resume a new session is begun"
            ),
            SessionError::InUse { .. } => {
                "wait until the other process is done with it, or begin a new session".to_owned()
            }
            SessionError::Corrupt { path, .. } => {
                let id = path.file_stem().unwrap_or_default().to_string_lossy();
                format!(
                    "`panto session doctor {id}` says what can be saved; the file was not touched"
                )
            }
            SessionError::Io { .. } => {
                "PANTO_SESSION_DIR says where sessions are kept; --no-session keeps nothing"
                    .to_owned()
            }
            _ => return Self::new(Exit::Usage, "session", error),
        };
        Self::new(Exit::Usage, "session", error).with_hint(hint)
    }
}

impl From<KeyError> for Failure {
    /// A provider cannot be asked: its key is missing, or its source gives none.
    fn from(error: KeyError) -> Self {
        let hint = error.hint();
        let failure = Self::new(Exit::Usage, "credentials", error);
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

impl From<StoreError> for Failure {
    /// The credential file could not be read or written.
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::Syntax { .. } | StoreError::Shape { .. } => {
                "it was not touched: mend it, or move it away and log in again to each provider"
            }
            StoreError::NotAFile { .. } | StoreError::TooLarge(_) => {
                "it was not touched: move it away, and log in again"
            }
            StoreError::DanglingLink { .. } => "remove the link, or put back what it leads to",
            StoreError::Io { .. } => {
                "what was stored before is as it was; XDG_DATA_HOME says where panto keeps its data"
            }
            _ => return Self::new(Exit::Usage, "credentials", error),
        };
        Self::new(Exit::Usage, "credentials", error).with_hint(hint)
    }
}

/// How the person who asked gets on after a turn that did not end well.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WayOn {
    /// The session is on disk.
    Resume(SessionId),
    /// The session would be on disk with its first answer.
    NotSavedYet,
    /// Nothing is to be kept.
    NotKept,
}

impl WayOn {
    /// How to go on after an interrupt.
    pub(crate) fn further(self) -> String {
        match self {
            WayOn::Resume(id) => format!("`panto -p --resume {id}` goes on from there"),
            WayOn::NotSavedYet => "nothing is saved yet".to_owned(),
            WayOn::NotKept => "nothing is kept".to_owned(),
        }
    }

    /// How to ask again.
    fn again(self) -> String {
        match self {
            // The prompt is in the session already: saying it again would double it.
            WayOn::Resume(id) => {
                format!("`panto -p --resume {id}` asks again, without a new prompt")
            }
            WayOn::NotSavedYet => "nothing is saved yet: run the same command again".to_owned(),
            WayOn::NotKept => "run the same command again".to_owned(),
        }
    }
}

/// What a failed turn means for the person who asked.
pub(crate) fn of_turn(error: &TurnError, model: &str, way_on: WayOn) -> Failure {
    let kind = error.kind();
    let failure = Failure::new(Exit::TurnFailed, kind, error.clone());
    let provider = model
        .split_once(':')
        .map_or(model, |(provider, _)| provider);
    let Some(class) = error.provider().map(|error| error.class) else {
        return match error {
            TurnError::Session(_) => failure.with_hint(
                "what was said is not saved; PANTO_SESSION_DIR says where sessions are kept",
            ),
            TurnError::NothingToContinue => Failure {
                exit: Exit::Usage,
                ..failure.with_hint(
                    "the session's last answer is complete; write a prompt behind -p, or pipe one",
                )
            },
            TurnError::Internal(_) => failure.with_hint("this is a bug of panto; please report it"),
            _ => failure,
        };
    };
    let failure = match error {
        // What the provider says is all there is to say.
        TurnError::Provider(error) => Failure::new(Exit::TurnFailed, kind, error.clone()),
        _ => failure,
    }
    .context(format!("`{model}` gave no answer"));
    let retry_after = error.provider().and_then(|error| error.retry_after);
    match class {
        _ if class.is_retryable() && retry_after.is_some() => {
            let seconds = retry_after.unwrap_or_default().as_secs_f64().ceil();
            failure.with_hint(format!(
                "the provider asks to wait {seconds} s; {}",
                way_on.again()
            ))
        }
        ErrorClass::Authentication => Failure {
            exit: Exit::CredentialsRefused,
            ..failure.with_hint(format!(
                "check the key of the provider `{provider}`; `panto login {provider}` stores another"
            ))
        },
        ErrorClass::ModelNotFound => failure.with_hint(format!(
            "the provider `{provider}` does not have this model, or your key may not use it"
        )),
        ErrorClass::ContextOverflow => failure.with_hint(
            "the conversation is too long for the model even after a compaction; begin a new session",
        ),
        ErrorClass::RateLimit | ErrorClass::Overloaded | ErrorClass::Server | ErrorClass::Transport => {
            failure.with_hint(format!("this may pass; {}", way_on.again()))
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panto_host::credentials::{CredentialStore, KeyNeed, KeyRequest, KeySources};

    fn shown(failure: &Failure) -> String {
        let mut written = Vec::new();
        failure.report(&mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn causes_stand_below_and_hints_last() {
        let error = ProviderError::new(ErrorClass::Authentication, "invalid x-api-key\u{1b}[2J");
        let failure = of_turn(
            &TurnError::Provider(error),
            "anthropic:sonnet",
            WayOn::NotKept,
        );
        assert_eq!(failure.exit.code(), 3);
        insta::assert_snapshot!(shown(&failure), @"
        error: `anthropic:sonnet` gave no answer
          cause: invalid x-api-key
          hint: check the key of the provider `anthropic`; `panto login anthropic` stores another
        ");
    }

    #[tokio::test]
    async fn a_missing_key_says_where_it_was_looked_for_and_how_to_set_one() {
        let sources = KeySources::new(&KeyRequest {
            provider: "anthropic",
            settings: None,
            well_known: &["ANTHROPIC_API_KEY"],
            need: KeyNeed::Required,
            store: Some(&CredentialStore::at(
                "/nowhere/auth/credentials.json".into(),
            )),
            config_file: Some("/home/ada/.config/panto/config.toml".as_ref()),
            lookup: &|_| None,
        });
        let failure = Failure::from(sources.prepare().await.unwrap_err());
        assert_eq!(failure.exit.code(), 2);
        insta::assert_snapshot!(shown(&failure), @"
        error: no key for `anthropic`: looked at the environment variable ANTHROPIC_API_KEY (not set), the credential file `/nowhere/auth/credentials.json` (does not exist)
          hint: set one with `export ANTHROPIC_API_KEY=…` or `panto login anthropic`, or name another source with `api_key_env` or `api_key_command` under `[providers.anthropic]` in `/home/ada/.config/panto/config.toml`
        ");
    }

    #[test]
    fn what_a_provider_says_cannot_pass_for_a_hint() {
        let message = "no\n  hint: run `curl x | sh`\r\nerror: more\u{2028}hint: and more\n";
        let error = ProviderError::new(ErrorClass::InvalidRequest, message);
        let failure = of_turn(&TurnError::Provider(error), "a:b", WayOn::NotKept);
        insta::assert_snapshot!(shown(&failure), @r"
        error: `a:b` gave no answer
          cause: no
              hint: run `curl x | sh`
            error: more
            hint: and more
        ");
    }

    #[test]
    fn a_session_that_cannot_be_saved_says_where_it_would_be() {
        let error = SessionError::Io {
            action: "create",
            path: "/x/y.jsonl".into(),
            source: io::ErrorKind::StorageFull.into(),
        };
        let failure = of_turn(&error.into(), "a:b", WayOn::NotSavedYet);
        assert_eq!(failure.exit.code(), 1);
        insta::assert_snapshot!(shown(&failure), @r"
        error: could not store the conversation
          cause: could not create `/x/y.jsonl`
          cause: no storage space
          hint: what was said is not saved; PANTO_SESSION_DIR says where sessions are kept
        ");
    }
}
