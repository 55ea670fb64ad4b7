//! Protocols that extensions register, which are chosen before they are there.

use std::collections::BTreeMap;
use std::sync::Arc;

use pantograph::protocol::{Protocol, ProtocolStream, Request};
use pantograph::{ErrorClass, ProviderError, async_trait};
use parking_lot::RwLock;

/// The protocols that extensions register, by name. Clones are the same.
///
/// One that is chosen before it is registered fails every request until it is.
#[derive(Clone, Default)]
pub struct LateProtocols(Arc<RwLock<BTreeMap<String, Arc<Late>>>>);

struct Late {
    name: String,
    registered: RwLock<Option<Arc<dyn Protocol>>>,
}

impl LateProtocols {
    /// The protocol of that name, registered or not.
    pub(super) fn protocol(&self, name: &str) -> Arc<dyn Protocol> {
        let mut late = self.0.write();
        let late = late.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Late {
                name: name.to_owned(),
                registered: RwLock::default(),
            })
        });
        Arc::clone(late) as Arc<dyn Protocol>
    }

    /// Looks up every name that was chosen. What is not found fails from now on.
    pub fn find(&self, find: impl Fn(&str) -> Option<Arc<dyn Protocol>>) {
        for late in self.0.read().values() {
            *late.registered.write() = find(&late.name);
        }
    }

    /// Looks up the names that were chosen and are not registered yet.
    pub(super) fn find_missing(&self, find: impl Fn(&str) -> Option<Arc<dyn Protocol>>) {
        for late in self.0.read().values() {
            let mut registered = late.registered.write();
            if registered.is_none() {
                *registered = find(&late.name);
            }
        }
    }

    /// The names that were chosen and are not registered.
    pub fn missing(&self) -> Vec<String> {
        let late = self.0.read();
        let missing = late
            .values()
            .filter(|late| late.registered.read().is_none());
        missing.map(|late| late.name.clone()).collect()
    }
}

impl Late {
    fn registered(&self) -> Option<Arc<dyn Protocol>> {
        self.registered.read().clone()
    }
}

#[async_trait]
impl Protocol for Late {
    fn name(&self) -> &str {
        &self.name
    }

    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        match self.registered() {
            Some(protocol) => protocol.open(request).await,
            None => Err(ProviderError::new(
                ErrorClass::Terminal,
                format!("no extension has registered the protocol `{}`", self.name),
            )),
        }
    }

    fn reset_context(&self, context: &str) {
        if let Some(protocol) = self.registered() {
            protocol.reset_context(context);
        }
    }

    fn release_context(&self, context: &str) {
        if let Some(protocol) = self.registered() {
            protocol.release_context(context);
        }
    }
}
