//! Prompts that begin with a hyphen.

use std::ffi::OsString;

use clap::CommandFactory;

use super::Cli;

/// Binds the word behind `-p` to it if it begins with `-` and is no flag: the parser would take
/// it for one.
pub(super) fn bind(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let command = Cli::command();
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        // A command, whose own words follow, or a prompt that stands elsewhere.
        if !word.starts_with('-') || word == "--" || word == "-" {
            break;
        }
        match read(&command, word) {
            Some(Flag::Print) => {
                let next = arguments.get(at + 1).and_then(|next| next.to_str());
                let prompt = next.filter(|next| is_prompt(&command, next));
                if let Some(prompt) = prompt {
                    let bound = format!("--print={prompt}");
                    let before = word.strip_suffix('p').filter(|before| before.len() > 1);
                    let before = before.filter(|_| !word.starts_with("--"));
                    let words = before.map(OsString::from).into_iter().chain([bound.into()]);
                    arguments.splice(at..=at + 1, words);
                }
                break;
            }
            Some(Flag::TakesNext) => at += 2,
            Some(Flag::Whole) => at += 1,
            None => break,
        }
    }
    arguments
}

fn is_prompt(command: &clap::Command, word: &str) -> bool {
    word.starts_with('-') && word.len() > 1 && word != "--" && read(command, word).is_none()
}

/// What a word is to the parser.
enum Flag {
    /// `-p` without a value.
    Print,
    /// Its value is the next word.
    TakesNext,
    /// It has all that it takes.
    Whole,
}

/// Reads a flag, or several short ones in a word; `None` if it is none that panto has.
fn read(command: &clap::Command, word: &str) -> Option<Flag> {
    let flag = |argument: &clap::Arg, has_value: bool| {
        if has_value || !argument.get_action().takes_values() {
            Flag::Whole
        } else if argument.get_id() == "print" {
            Flag::Print
        } else {
            Flag::TakesNext
        }
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        if matches!(name, "help" | "version") {
            return Some(Flag::Whole);
        }
        let known = |argument: &&clap::Arg| argument.get_long() == Some(name);
        let argument = command.get_arguments().find(known)?;
        return Some(flag(argument, value.is_some()));
    }
    let letters = word.strip_prefix('-')?;
    for (at, letter) in letters.char_indices() {
        if matches!(letter, 'h' | 'V') {
            continue;
        }
        let known = |argument: &&clap::Arg| argument.get_short() == Some(letter);
        let argument = command.get_arguments().find(known)?;
        if argument.get_action().takes_values() {
            let value = &letters[at + letter.len_utf8()..];
            // Nobody writes a value with blanks to the letter without quoting all of it.
            if value.contains(char::is_whitespace) && letter != 'p' {
                return None;
            }
            return Some(flag(argument, !value.is_empty()));
        }
    }
    Some(Flag::Whole)
}
