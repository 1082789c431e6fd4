//! Extensions: what both sides offer in INIT and INIT ACK, what they agree to, and which subflows are open in which
//! incarnation (docs/explanation/subflows.md).

pub(crate) mod agreement;
pub(crate) mod fids;
pub(crate) mod offer;
