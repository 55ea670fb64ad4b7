//! The panto program: arguments, composition, exit codes, nothing else.

mod args;
mod completions;
mod compose;
mod demo;
mod doctor;
mod extension;
mod failure;
mod keys;
mod log;
mod login;
mod lua;
mod models;
mod panics;
mod place;
mod prompt;
mod protocols;
mod run;
mod session;
mod sessions;
mod shipped;
mod signals;
mod streams;
mod trust;
mod x;

use std::process::ExitCode;

use args::{Cli, Command, OutputFormat, Request};
use failure::{Exit, Failure};

/// The system's gives memory to the threads that do the work page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    panics::keep_quiet();
    signals::leave_what_cannot_be_closed();
    keys::hide_environment();
    let arguments: Vec<_> = std::env::args_os().collect();
    let exit = match Cli::read(arguments.clone()) {
        Ok(request) => {
            let format = request.format();
            panics::guarded(|| answer(request)).unwrap_or_else(|failure| refuse(failure, format))
        }
        Err(error) => streams::refuse(&error, Cli::wanted_format(arguments)),
    };
    ExitCode::from(exit.code())
}

fn refuse(failure: Failure, format: Option<OutputFormat>) -> Exit {
    match format {
        Some(format) => run::refuse(failure, format),
        None => streams::report(&failure),
    }
}

fn answer(request: Request) -> Exit {
    if let Err(failure) = log::start() {
        return refuse(failure, request.format());
    }
    let outcome = match request {
        // Reports by itself: what it says depends on the output format.
        Request::Run(run, common) => return run::run(run, &common),
        // What fails in it is told as Lua's own program tells it.
        Request::Command(Command::Lua(args), common) => return lua::run(args, &common),
        Request::Command(Command::Demo(demo), common) => return demo::run(&demo, &common),
        Request::Command(Command::Models(list), common) => models::list(&list, &common),
        Request::Command(Command::Sessions(list), common) => sessions::list(&list, &common),
        Request::Command(Command::Session(command), common) => session::run(command, &common),
        Request::Command(Command::Login(args), common) => {
            return login::login(&args, &common)
                .unwrap_or_else(|failure| streams::report(&failure));
        }
        Request::Command(Command::X(args), common) => {
            return x::run(&args, &common).unwrap_or_else(|failure| streams::report(&failure));
        }
        Request::Command(Command::Doctor(args), common) => {
            return doctor::run(&args, &common).unwrap_or_else(|failure| streams::report(&failure));
        }
        Request::Command(Command::Extension(command), common) => extension::run(command, &common),
        Request::Command(Command::Trust(args), common) => trust::run(&args, &common),
        Request::Command(Command::Logout(args), common) => login::logout(&args, &common),
        Request::Command(Command::Completions { shell }, _) => completions::print(shell),
    };
    match outcome {
        Ok(()) => Exit::Done,
        Err(failure) => streams::report(&failure),
    }
}
