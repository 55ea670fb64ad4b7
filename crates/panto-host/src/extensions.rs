//! Where extensions come from, before any of them runs: the layers of resources, what lies in
//! them, which projects are trusted, and the files that panto ships.

mod diagnostic;
mod discover;
mod layers;
mod shipped;
mod trust;

pub use diagnostic::{Diagnostic, Level, Position};
pub use discover::{Rank, SourceFile, discover};
pub use layers::{LayerName, LayersRequest, ResourceLayer, SkippedLayer, layers};
pub(crate) use shipped::stage_at;
pub use shipped::{ShippedFile, StageError, stage};
pub use trust::{TrustError, TrustStore};
