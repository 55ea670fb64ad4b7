//! `panto sessions`: what was talked about in a directory.

use panto_host::headless::sanitize_line;
use pantograph::session::{SessionInfo, Survey};
use serde_json::{Value, json};

use crate::args::{CommonArgs, SessionsArgs};
use crate::failure::Failure;
use crate::place::{Place, Workers, wait_for};
use crate::streams;

/// How many sessions a person sees who asked for no number.
const SCREENFUL: usize = 20;

/// How many characters of the last prompt a line shows.
const PROMPT_WIDTH: usize = 60;

pub(crate) fn list(args: &SessionsArgs, common: &CommonArgs) -> Result<(), Failure> {
    let place = Place::find(common)?;
    let store = place.store()?;
    let Survey {
        mut sessions,
        unreadable,
    } = wait_for(Workers::None, async { Ok(store.survey().await?) })?;
    for (_, error) in unreadable {
        streams::warn(Failure::from(error).to_line());
    }
    let is_empty = sessions.is_empty();
    let limit = args.limit.or((!args.json).then_some(SCREENFUL));
    sessions.truncate(limit.unwrap_or(usize::MAX));
    if args.json {
        return streams::print_json(&sessions.iter().map(object).collect::<Vec<_>>());
    }
    if is_empty {
        let here = place.cwd().display().to_string();
        return streams::print_text(&format!("no sessions of {here} yet\n"));
    }
    streams::print_text(&table(&sessions))
}

fn object(session: &SessionInfo) -> Value {
    json!({
        "id": session.id,
        "created": session.created.to_string(),
        "modified": session.modified.to_string(),
        "message_count": session.message_count,
        "last_user_message": session.last_user_message,
        "model": session.model,
        "reasoning": session.reasoning,
        "api_style": session.api_style,
        "base_url": session.base_url,
        "metadata": session.metadata,
    })
}

/// One line a session.
fn table(sessions: &[SessionInfo]) -> String {
    let mut text = format!(
        "{:36}  {:16}  {:>8}  LAST PROMPT\n",
        "ID", "MODIFIED (UTC)", "MESSAGES"
    );
    for session in sessions {
        let prompt = session.last_user_message.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "{:36}  {:16}  {:>8}  {}\n",
            session.id.to_string(),
            minute(&session.modified.to_string()),
            session.message_count,
            sanitize_line(prompt, PROMPT_WIDTH),
        ));
    }
    text
}

/// The date and time of an RFC 3339 text, to the minute.
pub(crate) fn minute(timestamp: &str) -> String {
    timestamp
        .chars()
        .take(16)
        .collect::<String>()
        .replace('T', " ")
}
