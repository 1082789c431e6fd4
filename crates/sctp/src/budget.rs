//! Memory for growing buffers, shared by all associations of an endpoint: it counts the bytes beyond those that each
//! begins with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes by which receive windows may still grow. Associations take from it and give back, and use less when little
/// is left.
#[derive(Debug)]
pub(crate) struct Budget {
    all: u64,
    left: AtomicU64,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { all: bytes, left: AtomicU64::new(bytes) })
    }

    /// Bytes that no association has.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// True if less than a quarter is left: associations then give back the part of their growth that they do not
    /// need.
    pub(crate) fn is_nearly_spent(&self) -> bool {
        self.left() < self.all / 4
    }
}

/// Part of the budget that one association has; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Share {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Asks for `bytes` in all, more or less than now; returns the bytes granted.
    pub(crate) fn resize(&mut self, bytes: u64) -> u64 {
        let before = self.bytes;
        let _ = self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            let all = left.saturating_add(before);
            self.bytes = bytes.min(all);
            Some(all - self.bytes)
        });
        self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_what_there_is() {
        let budget = Budget::new(100);
        let (mut a, mut b) = (Share::new(&budget), Share::new(&budget));
        assert_eq!((a.resize(60), b.resize(60)), (60, 40));
        assert!(budget.is_nearly_spent());
        assert_eq!((a.resize(10), b.resize(200)), (10, 90));
        drop(b);
        assert_eq!((budget.left(), budget.is_nearly_spent()), (90, false));
        drop(a);
        assert_eq!(budget.left(), 100);
    }
}
