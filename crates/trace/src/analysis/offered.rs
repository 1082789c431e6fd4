//! The window that one direction offers to the other.

/// How large the offered window was, and is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfferedWindow {
    least: Option<u64>,
    most: Option<u64>,
    /// How often it was shut.
    shut: u64,
    now: u64,
}

impl OfferedWindow {
    pub(crate) fn least(&self) -> Option<u64> {
        self.least
    }

    pub(crate) fn most(&self) -> Option<u64> {
        self.most
    }

    /// How often it was shut.
    pub(crate) fn times_shut(&self) -> u64 {
        self.shut
    }

    /// Bytes, as it was offered last.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Takes the size of a window that the peer offers.
    pub(super) fn seen(&mut self, window: u64) {
        self.least = Some(self.least.map_or(window, |least| least.min(window)));
        self.most = Some(self.most.map_or(window, |most| most.max(window)));
        self.shut += u64::from(window == 0 && self.now != 0);
        self.now = window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_stays_shut_counts_once() {
        let mut window = OfferedWindow::default();
        for bytes in [3000, 0, 0, 1000, 0] {
            window.seen(bytes);
        }
        assert_eq!((window.least(), window.most(), window.times_shut()), (Some(0), Some(3000), 2));
    }
}
