//! The protocols that a configuration may name.

use std::sync::Arc;

use panto_host::models::ProtocolRegistry;
use pantograph_scripted::{Script, ScriptedProtocol};

/// Every protocol that is built in.
pub(crate) fn built_in() -> ProtocolRegistry {
    let mut registry = ProtocolRegistry::default();
    registry.register("scripted", |provider| {
        let script = provider
            .script
            .as_deref()
            .ok_or("it needs `script`, the file that it plays")?;
        Ok(Arc::new(ScriptedProtocol::new(Script::load(script)?)))
    });
    registry
}
