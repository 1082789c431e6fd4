//! The gate to the network: whose packet is next when several subflows may send. Windows have been asked before: a subflow
//! that its own window stops is not among the candidates, so it stops nobody else.

use crate::config::SubflowScheduler;

/// A subflow that has something to send and may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) subflow: u8,
    pub(crate) priority: u8,
    /// When its earliest message came; 0 for a retransmission, which has waited longest.
    pub(crate) since: u64,
}

/// The scheduler over the subflows.
#[derive(Debug)]
pub(crate) struct Gate {
    rule: SubflowScheduler,
    /// Whose turn it was last, and how many packets of that turn are left.
    last: u8,
    left: u16,
    /// Bytes sent over weight, for each subflow; the virtual time of fair queueing.
    served: Vec<u64>,
    now: u64,
    candidates: Vec<Candidate>,
}

/// Virtual time for one byte at weight 1. Weights divide it without much loss.
const UNIT: u64 = 1 << 16;

impl Gate {
    pub(crate) fn new(rule: SubflowScheduler) -> Self {
        Self { rule, last: u8::MAX, left: 0, served: Vec::new(), now: 0, candidates: Vec::new() }
    }

    /// Whether the rule looks at when messages came.
    pub(crate) fn wants_arrivals(&self) -> bool {
        matches!(self.rule, SubflowScheduler::Fcfs | SubflowScheduler::Priority)
    }

    /// A list to fill with candidates, in the order of the subflows.
    pub(crate) fn begin(&mut self) -> Vec<Candidate> {
        let mut list = std::mem::take(&mut self.candidates);
        list.clear();
        list
    }

    /// Whose packet is next. Nothing changes until [`Gate::sent`].
    pub(crate) fn choose(&mut self, list: Vec<Candidate>) -> Option<u8> {
        let chosen = match self.rule {
            SubflowScheduler::Fcfs => list.iter().min_by_key(|c| c.since),
            SubflowScheduler::Priority => list.iter().min_by_key(|c| (c.priority, c.since)),
            SubflowScheduler::WeightedRoundRobin => {
                let goes_on = list.iter().find(|c| c.subflow == self.last && self.left > 0);
                // The next one after the last in the circle, or the first.
                goes_on.or_else(|| list.iter().find(|c| c.subflow > self.last)).or_else(|| list.first())
            }
            SubflowScheduler::WeightedFair => {
                list.iter().min_by_key(|c| self.served(c.subflow).max(self.now))
            }
        };
        let chosen = chosen.copied();
        self.candidates = list;
        chosen.map(|c| c.subflow)
    }

    /// A packet of `bytes` has left.
    pub(crate) fn sent(&mut self, subflow: u8, weight: u16, bytes: u64) {
        match self.rule {
            SubflowScheduler::Fcfs | SubflowScheduler::Priority => {}
            SubflowScheduler::WeightedRoundRobin => {
                if self.last != subflow || self.left == 0 {
                    self.last = subflow;
                    self.left = weight.max(1);
                }
                self.left -= 1;
            }
            SubflowScheduler::WeightedFair => {
                // Who was idle gets no credit for it: its time starts now.
                let start = self.served(subflow).max(self.now);
                self.now = start;
                let index = usize::from(subflow);
                if index >= self.served.len() {
                    self.served.resize(index + 1, 0);
                }
                if let Some(served) = self.served.get_mut(index) {
                    *served = start.saturating_add(bytes * UNIT / u64::from(weight.max(1)));
                }
            }
        }
    }

    fn served(&self, subflow: u8) -> u64 {
        self.served.get(usize::from(subflow)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rule: SubflowScheduler, subflows: &[(u16, u8, u64)], packets: usize) -> Vec<u8> {
        let mut gate = Gate::new(rule);
        (0..packets)
            .map(|_| {
                let mut list = gate.begin();
                for (index, &(_, priority, since)) in subflows.iter().enumerate() {
                    list.push(Candidate { subflow: index as u8, priority, since });
                }
                let chosen = gate.choose(list).expect("somebody");
                gate.sent(chosen, subflows[usize::from(chosen)].0, 1000);
                chosen
            })
            .collect()
    }

    #[test]
    fn first_come_first_served_and_strict_priority() {
        assert_eq!(run(SubflowScheduler::Fcfs, &[(1, 0, 9), (1, 0, 3), (1, 0, 5)], 2), [1, 1]);
        assert_eq!(run(SubflowScheduler::Priority, &[(1, 2, 1), (1, 1, 9), (1, 1, 8)], 2), [2, 2]);
    }

    #[test]
    fn weights_are_packets_or_bytes() {
        assert_eq!(run(SubflowScheduler::WeightedRoundRobin, &[(1, 0, 0), (2, 0, 0)], 6), [0, 1, 1, 0, 1, 1]);
        let fair = run(SubflowScheduler::WeightedFair, &[(1, 0, 0), (3, 0, 0)], 400);
        let first = fair.iter().filter(|s| **s == 0).count();
        assert!((99..=101).contains(&first), "{first}");
    }

    #[test]
    fn who_was_idle_gets_no_credit() {
        let mut gate = Gate::new(SubflowScheduler::WeightedFair);
        for _ in 0..100 {
            gate.sent(0, 1, 1000);
        }
        let both = |gate: &mut Gate| {
            let mut list = gate.begin();
            list.extend((0..2).map(|s| Candidate { subflow: s, priority: 0, since: 0 }));
            let chosen = gate.choose(list).expect("somebody");
            gate.sent(chosen, 1, 1000);
            chosen
        };
        let turns: Vec<u8> = (0..10).map(|_| both(&mut gate)).collect();
        assert!(turns.iter().filter(|s| **s == 1).count() <= 6, "{turns:?}");
    }
}
