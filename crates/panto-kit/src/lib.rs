//! What Lua extensions can do fast without a session: search, walk and diff files, replace them
//! whole, read frontmatter and TOML, check JSON against a schema, colour code.
//!
//! For hosts that give extensions more than Lua has. Each concept is plain Rust with a thin
//! binding beside it; policy, words and schemas of tools stay in Lua.

mod data;
pub mod diff;
mod files;
pub mod frontmatter;
pub mod highlight;
mod position;
pub mod read;
pub mod replace;
pub mod schema;
pub mod search;
mod stop;
pub mod text;
pub mod themes;
pub mod toml;
pub mod walk;

pub use data::data;
pub use files::files;
pub use stop::Stop;
