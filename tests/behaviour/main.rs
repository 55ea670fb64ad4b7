//! What a user sees, through public doors only.

#![expect(
    clippy::unwrap_used,
    reason = "tests may unwrap, and so may what they share"
)]

mod architecture;
mod closed_output;
mod demo;
mod disk_trouble;
mod exit_codes;
mod interrupt;
mod killed;
mod layers;
mod output_formats;
mod prompts;
mod readme;
mod repository;
mod resuming;
mod session_commands;
mod support;
mod usage_errors;
