//! Why the reading of a packet is interrupted.

use anabranch_wire::Tsn;
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::Init;
use anabranch_wire::sf2007::SetupParams;

use crate::violation::Violation;

/// The association has to do something before the next chunk is read, or none is to be read.
#[derive(Clone, Copy, Debug)]
pub(in crate::association) enum Interrupt<'p> {
    /// The packet ends here.
    Stop,
    /// The peer broke a rule: the association is aborted.
    Violation(Violation),
    /// INIT ACK, alone in its packet.
    InitAck(Init<'p>),
    /// COOKIE ACK.
    CookieAck,
    /// COOKIE ACK of the encoding of 2007.
    CookieAckWithSetup(SetupParams<'p>),
    /// A chunk of data where COOKIE ACK is waited for, and data stands for it. It is read again next.
    DataForCookieAck,
    /// Something may have been acknowledged that a shutdown waits for.
    Acknowledged,
    /// SHUTDOWN with its Cumulative TSN Ack.
    Shutdown(Tsn),
    /// SHUTDOWN ACK of an association that has been up.
    ShutdownAck,
    /// SHUTDOWN COMPLETE.
    ShutdownComplete,
    /// ABORT.
    Abort(Causes<'p>),
    /// ERROR.
    Error(Causes<'p>),
}

impl From<Violation> for Interrupt<'_> {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}
