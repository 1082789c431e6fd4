//! The owners of an association that a procedure of it works on.

use anabranch_wire::Tsn;

use crate::context::Context;
use crate::control::Control;
use crate::ids::SpaceId;
use crate::receiver::Receiver;
use crate::sender::Sender;

/// An owner that changes others while it does its work borrows them for the time of one call.
pub(crate) struct Scope<'a> {
    pub(crate) cx: &'a mut Context,
    pub(crate) sender: &'a mut Sender,
    pub(crate) receiver: &'a mut Receiver,
    pub(crate) control: &'a mut Control,
}

/// Lends the owners of an association, and none of its other fields.
macro_rules! scope_of {
    ($association:expr) => {
        $crate::scope::Scope {
            cx: &mut $association.cx,
            sender: &mut $association.sender,
            receiver: &mut $association.receiver,
            control: &mut $association.control,
        }
    };
}
pub(crate) use scope_of;

impl Scope<'_> {
    /// The same owners for one call.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Scope<'_> {
        Scope { cx: self.cx, sender: self.sender, receiver: self.receiver, control: self.control }
    }

    /// The space of a FID, made if there is none: its two halves have the same place in the tables of sender and receiver.
    fn make_space(&mut self, fid: u8) -> SpaceId {
        self.sender.tables().space_of(fid).unwrap_or_else(|| {
            self.receiver.arrivals_mut().add_space(fid);
            self.sender.tables_mut().add_space(fid)
        })
    }

    /// We may send under a FID.
    pub(crate) fn open_sending(&mut self, fid: u8, epoch: u8, initial: Tsn) {
        let at = self.make_space(fid);
        self.sender.subflow_changes().open_space(self.cx, at, epoch, initial);
    }

    /// The peer may send under a FID.
    pub(crate) fn open_receiving(&mut self, fid: u8, epoch: u8, initial: Tsn) {
        let at = self.make_space(fid);
        self.receiver.open(self.cx, at, epoch, initial);
    }
}
