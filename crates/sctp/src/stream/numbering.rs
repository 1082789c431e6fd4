//! The numbers of messages, stream by stream. They belong to the association: a stream that changes its subflow goes on
//! counting.

use anabranch_wire::Ssn;

/// Stream sequence numbers still to give.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    next_ssn: Vec<Ssn>,
}

impl Numbering {
    /// The SSN of a message whose first fragment leaves now. An unordered message uses none up.
    pub(crate) fn take(&mut self, stream: u16, unordered: bool) -> Ssn {
        let id = usize::from(stream);
        if id >= self.next_ssn.len() {
            self.next_ssn.resize(id + 1, Ssn::new(0));
        }
        let Some(next) = self.next_ssn.get_mut(id) else { return Ssn::new(0) };
        let ssn = *next;
        if !unordered {
            *next = ssn.next();
        }
        ssn
    }

    /// Every stream begins anew (restart).
    pub(crate) fn restart(&mut self) {
        self.next_ssn.clear();
    }
}
