//! Which flows share a bottleneck: the grouping of RFC 8382, section 3.3.1, steps 2 to 5, and how long a verdict holds.

use super::bottleneck::{Estimates, P_L};

/// Largest difference of oscillation within a group (p_f).
const P_F: f64 = 0.1;
/// Of variability, as a share of the larger (p_mad).
const P_MAD: f64 = 0.1;
/// Of skewness (p_s).
const P_S: f64 = 0.15;
/// Of loss, as a share of the larger (p_d).
const P_D: f64 = 0.1;

/// Groups flows that pass a bottleneck: a number for each, the same for those that share one.
pub(super) fn group(flows: &[Estimates]) -> Vec<usize> {
    let mut groups = vec![(0..flows.len()).collect::<Vec<_>>()];
    groups = divide(groups, flows, |e| e.oscillation, |_| P_F);
    groups = divide(groups, flows, |e| e.variability, |high| P_MAD * high.variability);
    groups = divide(groups, flows, |e| e.skew, |_| P_S);
    groups = divide(
        groups,
        flows,
        |e| if e.loss > P_L { e.loss } else { 0.0 },
        |high| if high.loss > P_L { P_D * high.loss } else { f64::INFINITY },
    );
    let mut numbers = vec![0; flows.len()];
    for (number, members) in groups.iter().enumerate() {
        for &member in members {
            if let Some(slot) = numbers.get_mut(member) {
                *slot = number;
            }
        }
    }
    numbers
}

/// Sorts each group from high to low and cuts it where neighbours differ by the threshold or more.
fn divide(
    groups: Vec<Vec<usize>>,
    flows: &[Estimates],
    value: impl Fn(&Estimates) -> f64,
    threshold: impl Fn(&Estimates) -> f64,
) -> Vec<Vec<usize>> {
    let of = |index: usize| flows.get(index).copied().unwrap_or_default();
    let mut divided = Vec::new();
    for mut members in groups {
        members.sort_by(|&a, &b| value(&of(b)).total_cmp(&value(&of(a))));
        let mut current: Vec<usize> = Vec::new();
        for member in members {
            if let Some(&before) = current.last() {
                let (high, low) = (of(before), of(member));
                let difference = value(&high) - value(&low);
                if difference > 0.0 && difference >= threshold(&high) {
                    divided.push(std::mem::take(&mut current));
                }
            }
            current.push(member);
        }
        divided.push(current);
    }
    divided
}

/// Weight of one verdict in the memory of a pair.
const WEIGHT: f64 = 1.0 / 32.0;
/// A pair that is together parts below this share of recent verdicts, and meets again above the other.
const PART: f64 = 0.1;
const MEET: f64 = 0.4;

/// What is remembered of two flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    together: bool,
    share: f64,
}

impl Default for Pair {
    /// Together until shown apart: unfairness to others costs more than a slow start of one's own.
    fn default() -> Self {
        Self { together: true, share: 0.5 }
    }
}

impl Pair {
    /// A verdict on two flows that both pass a bottleneck.
    pub(super) fn seen(&mut self, same: bool) {
        self.share += WEIGHT * (f64::from(u8::from(same)) - self.share);
        self.together = if self.together { self.share >= PART } else { self.share > MEET };
    }

    pub(super) fn is_together(self) -> bool {
        self.together
    }
}
