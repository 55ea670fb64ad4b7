//! What a user sees, through public doors only.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may unwrap as tests do"
)]

mod architecture;
mod bundle;
mod children_interrupt;
mod children_killed;
mod children_lifecycle;
mod children_restart;
mod children_tools;
mod closed_output;
mod closing;
mod coding;
mod commands;
mod demo;
mod disk_trouble;
mod doctor;
mod exit_codes;
mod extensions;
mod interrupt;
mod keys;
mod killed;
mod layers;
mod login;
mod lua;
mod lua_ends;
mod lua_scripts;
mod models;
mod native_modules;
mod output_formats;
mod parked_tool;
mod prompts;
mod provider_faults;
mod readme;
mod repository;
mod resources;
mod resuming;
mod rocks;
mod session_commands;
mod session_models;
mod skills;
mod specs;
mod support;
mod terminal;
mod tools;
mod trust;
mod usage_errors;
