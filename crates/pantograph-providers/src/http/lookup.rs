//! Names to addresses, without a thread for each of the streams that begin at once.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::OnceCell;

type Found = Result<Vec<SocketAddr>, Failure>;

/// Asks the system, which blocks a thread, and gives one answer to all that ask for a name
/// meanwhile. Nothing is remembered beyond that.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    running: Arc<Mutex<HashMap<String, Weak<OnceCell<Found>>>>>,
}

impl Resolve for Lookups {
    fn resolve(&self, name: Name) -> Resolving {
        let running = Arc::clone(&self.running);
        Box::pin(async move {
            let found = join(&running, name.as_str());
            let addresses = found.get_or_init(|| look_up(name.as_str())).await.clone()?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The lookup of a name that runs already, or a new one.
fn join(
    running: &Mutex<HashMap<String, Weak<OnceCell<Found>>>>,
    name: &str,
) -> Arc<OnceCell<Found>> {
    let mut running = running.lock();
    if let Some(found) = running.get(name).and_then(Weak::upgrade) {
        return found;
    }
    running.retain(|_, found| found.strong_count() > 0);
    let found = Arc::default();
    running.insert(name.to_owned(), Arc::downgrade(&found));
    found
}

async fn look_up(name: &str) -> Found {
    let name = name.to_owned();
    let looked_up = tokio::task::spawn_blocking(move || {
        // The port is put in later.
        let addresses = (name.as_str(), 0).to_socket_addrs()?;
        io::Result::Ok(addresses.collect())
    });
    match looked_up.await {
        Ok(found) => found.map_err(|error| Failure(error.to_string())),
        Err(_) => Err(Failure("the lookup was abandoned".to_owned())),
    }
}

/// Why a name has no address, in the system's words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
struct Failure(String);
