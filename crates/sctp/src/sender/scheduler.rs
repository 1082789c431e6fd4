//! Choice of the subflow that sends next when several may. Windows have been looked at before: a subflow that its own
//! window stops is not among the candidates, so it does not stop other subflows.

use super::next::Next;
use crate::config::SubflowScheduler as Rule;
use crate::ids::{Id, SubflowId};

/// A subflow that has something to send and may.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) next: Next,
    pub(super) priority: u8,
    /// Time at which its earliest message came; 0 for a retransmission, which has waited longest.
    pub(super) since: u64,
}

/// The scheduler over the subflows.
#[derive(Debug)]
pub(super) struct SubflowScheduler {
    rule: Rule,
    /// The subflow whose turn it was last, and the packets of that turn that are left.
    last: Option<SubflowId>,
    left: u16,
    /// State for several subflows, made when it is needed first.
    several: Option<Box<Several>>,
}

/// State that several subflows need, or shares by weight.
#[derive(Debug, Default)]
struct Several {
    /// Bytes sent over weight, for each subflow; the virtual time of fair queueing.
    served: Vec<u64>,
    now: u64,
    /// List of candidates, kept to use its memory again.
    candidates: Vec<Candidate>,
}

/// Virtual time for one byte at weight 1. Weights divide it without much loss.
const UNIT: u64 = 1 << 16;

impl SubflowScheduler {
    pub(super) fn new(rule: Rule) -> Self {
        Self { rule, last: None, left: 0, several: None }
    }

    /// True if the rule depends on the time at which messages came.
    pub(super) fn wants_arrivals(&self) -> bool {
        matches!(self.rule, Rule::Fcfs | Rule::Priority)
    }

    /// A list to fill with candidates, in the order of the subflows.
    pub(super) fn begin(&mut self) -> Vec<Candidate> {
        let mut list = std::mem::take(&mut self.several.get_or_insert_default().candidates);
        list.clear();
        list
    }

    /// The next packet. Nothing changes until [`SubflowScheduler::sent`].
    pub(super) fn choose(&mut self, list: Vec<Candidate>) -> Option<Next> {
        let chosen = match self.rule {
            Rule::Fcfs => list.iter().min_by_key(|c| c.since),
            Rule::Priority => list.iter().min_by_key(|c| (c.priority, c.since)),
            Rule::WeightedRoundRobin => {
                let goes_on = list.iter().find(|c| Some(c.next.subflow) == self.last && self.left > 0);
                // The next candidate after the last subflow in the circle, or the first.
                let after = || self.last.and_then(|last| list.iter().find(|c| c.next.subflow > last));
                goes_on.or_else(after).or_else(|| list.first())
            }
            Rule::WeightedFair => {
                let several = &*self.several.get_or_insert_default();
                list.iter().min_by_key(|c| several.served(c.next.subflow).max(several.now))
            }
        };
        let chosen = chosen.copied();
        self.several.get_or_insert_default().candidates = list;
        chosen.map(|c| c.next)
    }

    /// A packet of `bytes` has left.
    #[inline]
    pub(super) fn sent(&mut self, subflow: SubflowId, weight: u16, bytes: u64) {
        if matches!(self.rule, Rule::WeightedRoundRobin | Rule::WeightedFair) {
            self.serve(subflow, weight, bytes);
        }
    }

    #[inline(never)]
    fn serve(&mut self, subflow: SubflowId, weight: u16, bytes: u64) {
        match self.rule {
            Rule::Fcfs | Rule::Priority => {}
            Rule::WeightedRoundRobin => {
                if self.last != Some(subflow) || self.left == 0 {
                    self.last = Some(subflow);
                    self.left = weight.max(1);
                }
                self.left -= 1;
            }
            Rule::WeightedFair => {
                let cost = bytes * UNIT / u64::from(weight.max(1));
                self.several.get_or_insert_default().serve(subflow, cost);
            }
        }
    }
}

impl Several {
    /// Counts bytes sent. A subflow that was idle gets no credit for it: its time starts now.
    fn serve(&mut self, subflow: SubflowId, cost: u64) {
        let start = self.served(subflow).max(self.now);
        self.now = start;
        let index = subflow.row();
        if index >= self.served.len() {
            self.served.resize(index + 1, 0);
        }
        if let Some(served) = self.served.get_mut(index) {
            *served = start.saturating_add(cost);
        }
    }

    fn served(&self, subflow: SubflowId) -> u64 {
        self.served.get(subflow.row()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::next::First;
    use super::*;
    use crate::ids::{LaneId, PathId, SpaceId};

    fn candidate(subflow: u8, priority: u8, since: u64) -> Candidate {
        let next = Next {
            subflow: SubflowId::new(subflow),
            path: PathId::new(0),
            lane: LaneId::at(usize::from(subflow)),
            space: SpaceId::FIRST,
            first: First::New { roomy: true },
            dscp: anabranch_base::Dscp::DEFAULT,
        };
        Candidate { next, priority, since }
    }

    fn run(rule: Rule, subflows: &[(u16, u8, u64)], packets: usize) -> Vec<u8> {
        let mut scheduler = SubflowScheduler::new(rule);
        (0..packets)
            .map(|_| {
                let mut list = scheduler.begin();
                for (index, &(_, priority, since)) in subflows.iter().enumerate() {
                    list.push(candidate(index as u8, priority, since));
                }
                let chosen = scheduler.choose(list).expect("somebody").subflow;
                scheduler.sent(chosen, subflows[chosen.row()].0, 1000);
                chosen.get()
            })
            .collect()
    }

    #[test]
    fn first_come_first_served_and_strict_priority() {
        assert_eq!(run(Rule::Fcfs, &[(1, 0, 9), (1, 0, 3), (1, 0, 5)], 2), [1, 1]);
        assert_eq!(run(Rule::Priority, &[(1, 2, 1), (1, 1, 9), (1, 1, 8)], 2), [2, 2]);
    }

    #[test]
    fn weights_are_packets_or_bytes() {
        assert_eq!(run(Rule::WeightedRoundRobin, &[(1, 0, 0), (2, 0, 0)], 6), [0, 1, 1, 0, 1, 1]);
        let fair = run(Rule::WeightedFair, &[(1, 0, 0), (3, 0, 0)], 400);
        let first = fair.iter().filter(|s| **s == 0).count();
        assert!((99..=101).contains(&first), "{first}");
    }

    #[test]
    fn who_was_idle_gets_no_credit() {
        let mut scheduler = SubflowScheduler::new(Rule::WeightedFair);
        for _ in 0..100 {
            scheduler.sent(SubflowId::FIRST, 1, 1000);
        }
        let both = |scheduler: &mut SubflowScheduler| {
            let mut list = scheduler.begin();
            list.extend((0..2).map(|s| candidate(s, 0, 0)));
            let chosen = scheduler.choose(list).expect("somebody").subflow;
            scheduler.sent(chosen, 1, 1000);
            chosen.get()
        };
        let turns: Vec<u8> = (0..10).map(|_| both(&mut scheduler)).collect();
        assert!(turns.iter().filter(|s| **s == 1).count() <= 6, "{turns:?}");
    }
}
