//! What a user sees, through public doors only.

mod architecture;
mod closed_output;
mod demo;
mod disk_trouble;
mod exit_codes;
mod interrupt;
mod layers;
mod output_formats;
mod prompts;
mod readme;
mod repository;
mod resuming;
mod session_commands;
mod support;
mod usage_errors;
