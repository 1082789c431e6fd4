//! The window that the peer offers, and how a shut one is asked (RFC 9293, section 3.8.6.1).

/// Effect of an acknowledgement on the peer's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowUpdate {
    pub(super) changed: bool,
    /// The window was shut, and was being probed.
    pub(super) reopened: bool,
}

/// The peer's window, and the probes of a shut one.
#[derive(Debug, Default)]
pub(super) struct PeerWindow {
    /// Bytes from the acknowledgement that brought it.
    bytes: u64,
    /// The segment that brought it (SND.WL1, SND.WL2).
    from: (u64, u64),
    probing: bool,
    /// A probe with one byte of new data leaves next.
    probe_byte: bool,
}

impl PeerWindow {
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The window of the segment that ended the handshake.
    pub(super) fn begin(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// RFC 9293, section 3.10.7.4: an older segment must not change the window. `from` is its sequence number and its acknowledgement.
    #[inline]
    pub(super) fn update(&mut self, from: (u64, u64), bytes: u64) -> WindowUpdate {
        if from < self.from {
            return WindowUpdate::default();
        }
        self.from = from;
        let before = std::mem::replace(&mut self.bytes, bytes);
        let reopened = before == 0 && bytes > 0 && self.probing;
        self.probing &= !reopened;
        WindowUpdate { changed: before != bytes, reopened }
    }

    /// A probe is due; `with_byte` when nothing is outstanding that could be sent again.
    pub(super) fn probe(&mut self, with_byte: bool) {
        self.probing = true;
        self.probe_byte |= with_byte;
    }

    /// A byte of new data leaves next although the window is shut.
    #[inline]
    pub(super) fn wants_byte(&self) -> bool {
        self.probe_byte
    }

    /// New data left.
    #[inline]
    pub(super) fn new_data_left(&mut self) {
        self.probe_byte = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_segment_changes_nothing() {
        let mut window = PeerWindow::default();
        window.begin(100);
        assert_eq!(window.update((5, 10), 200), WindowUpdate { changed: true, reopened: false });
        assert_eq!(window.update((4, 11), 300), WindowUpdate::default());
        assert_eq!(window.update((5, 9), 300), WindowUpdate::default());
        assert_eq!(window.bytes(), 200);
    }

    #[test]
    fn only_a_window_that_was_probed_reopens() {
        let mut window = PeerWindow::default();
        assert!(!window.update((1, 1), 10).reopened);
        window.update((1, 2), 0);
        window.probe(true);
        assert!(window.wants_byte());
        window.new_data_left();
        assert!(!window.wants_byte());
        assert!(window.update((1, 3), 10).reopened);
        assert!(!window.update((1, 4), 20).reopened);
    }
}
