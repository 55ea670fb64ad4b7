//! The flags of a protocol as a configuration sets them.

use panto_host::config::Provider;
use panto_host::models::ProtocolError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// `flags` with what the provider sets laid over them.
///
/// # Errors
///
/// The provider sets one that the protocol does not have.
pub(super) fn over<F: Serialize + DeserializeOwned>(
    flags: F,
    provider: &Provider,
) -> Result<F, ProtocolError> {
    let mut all: Map<String, Value> = serde_json::from_value(serde_json::to_value(flags)?)?;
    for (name, set) in &provider.flags.0 {
        if !all.contains_key(name) {
            let known: Vec<_> = all.keys().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "it has no flag `{name}` ({}); there are {}",
                set.source,
                known.join(", ")
            )
            .into());
        }
        all.insert(name.clone(), serde_json::to_value(&set.value)?);
    }
    Ok(serde_json::from_value(Value::Object(all))?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use panto_host::config::settings;
    use pantograph_providers::{
        AnthropicFlags, GoogleGenerateFlags, OpenAiChatFlags, OpenAiResponsesFlags,
    };

    use super::*;

    fn names(flags: impl Serialize) -> Vec<String> {
        let Value::Object(flags) = serde_json::to_value(flags).unwrap() else {
            panic!("flags are a map");
        };
        flags.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn every_flag_is_a_setting_and_every_setting_a_flag() {
        let flags = [
            names(AnthropicFlags::default()),
            names(OpenAiChatFlags::default()),
            names(OpenAiResponsesFlags::default()),
            names(GoogleGenerateFlags::default()),
        ];
        let flags: BTreeSet<_> = flags.into_iter().flatten().collect();
        let set = settings().filter_map(|setting| setting.key.strip_prefix("providers.*.flags."));
        let set: BTreeSet<_> = set.map(str::to_owned).collect();
        assert_eq!(flags, set);
    }
}
