//! The subflow extension on the wire (docs/subflows.md): what both sides agree to, which subflows are open in which
//! incarnation, and how the receive buffer is divided. Bytes and packets are elsewhere: here are the rules.

pub(crate) mod credit;
pub(crate) mod fids;
pub(crate) mod negotiation;
pub(crate) mod offer;
