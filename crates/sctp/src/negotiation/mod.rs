//! Extensions: the offers of both sides in INIT and INIT ACK, their agreement, and the subflows that are open in which
//! incarnation (docs/explanation/subflows.md).

pub(crate) mod agreement;
pub(crate) mod fids;
pub(crate) mod offer;
