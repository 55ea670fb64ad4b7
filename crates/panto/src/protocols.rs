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
        // Sessions that had tools, such as the demo's, go on without them: panto has none yet.
        let script = Script::load(script)?.allow_removed_tools();
        Ok(Arc::new(ScriptedProtocol::new(script)))
    });
    registry
}
