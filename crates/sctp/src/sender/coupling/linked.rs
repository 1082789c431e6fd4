//! Linked increases: LIA (RFC 6356) and OLIA (draft-khalili-mptcp-congestion-control-05).
//!
//! Both define the increase of a window for an acknowledgement. Here the increase is counted in packets a round trip:
//! Reno has 1. Paths of an association have one maximum segment size.

use super::view::LaneView;
use anabranch_transport::congestion::Growth;

/// cwnd and round trip (s) of the lanes that take part: open, and measured once.
fn lanes(views: &[LaneView]) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
    views.iter().enumerate().filter_map(|(index, view)| {
        let rtt = view.srtt?.as_secs_f64();
        (view.open && rtt > 0.0).then(|| (index, window(view), rtt))
    })
}

/// "To cater to connections that are app limited, the computation should consider the minimum between flight_size_i and
/// cwnd_i" (RFC 6356, 3).
fn window(view: &LaneView) -> f64 {
    let window = if view.active { view.cwnd } else { view.cwnd.min(view.flight) };
    window.max(1) as f64
}

/// RFC 6356, equations 1 and 2: min(alpha * cwnd_i / cwnd_total, 1) packets in a round trip, with
/// alpha = cwnd_total * max(cwnd / rtt^2) / (sum of cwnd / rtt)^2.
pub(super) fn lia(views: &[LaneView], lane: usize) -> Growth {
    let (mut best, mut rate, mut own) = (0.0_f64, 0.0, None);
    for (index, cwnd, rtt) in lanes(views) {
        best = best.max(cwnd / (rtt * rtt));
        rate += cwnd / rtt;
        if index == lane {
            own = Some(cwnd);
        }
    }
    let Some(own) = own else { return Growth::Linked(1.0) };
    // cwnd_total cancels out.
    Growth::Linked((own * best / (rate * rate)).min(1.0))
}

/// Bytes acknowledged since the last loss of a lane, and between the last two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    since: u64,
    between: u64,
}

impl Losses {
    pub(super) fn of(all: &mut Vec<Self>, lane: usize) -> &mut Self {
        if lane >= all.len() {
            all.resize(lane + 1, Self::default());
        }
        &mut all[lane]
    }

    pub(super) fn acked(&mut self, bytes: u64) {
        self.since += bytes;
    }

    pub(super) fn lost(&mut self) {
        self.between = self.since;
        self.since = 0;
    }

    /// l_r: the larger of the two.
    fn most(self) -> f64 {
        self.since.max(self.between) as f64
    }
}

/// OLIA: (w_r / rtt_r)^2 / (sum of w / rtt)^2 + alpha_r packets in a round trip. alpha_r moves growth from the paths with the
/// largest windows (`max_w_paths`) to the best ones whose windows are smaller (`collected_paths`); the best are those with
/// the largest l / rtt^2.
pub(super) fn olia(views: &[LaneView], losses: &[Losses], lane: usize) -> Growth {
    let worth = |index: usize, rtt: f64| losses.get(index).map_or(0.0, |l| l.most()) / (rtt * rtt);
    let (mut count, mut rate, mut largest, mut best, mut own) = (0.0, 0.0, 0.0_f64, 0.0_f64, None);
    for (index, cwnd, rtt) in lanes(views) {
        count += 1.0;
        rate += cwnd / rtt;
        largest = largest.max(cwnd);
        best = best.max(worth(index, rtt));
        if index == lane {
            own = Some((cwnd, rtt));
        }
    }
    let Some((cwnd, rtt)) = own else { return Growth::Linked(1.0) };
    let (mut most, mut collected) = (0.0, 0.0);
    for (index, cwnd, rtt) in lanes(views) {
        if cwnd >= largest {
            most += 1.0;
        } else if worth(index, rtt) >= best {
            collected += 1.0;
        }
    }
    let alpha = if collected == 0.0 {
        0.0
    } else if cwnd >= largest {
        -1.0 / (count * most)
    } else if worth(lane, rtt) >= best {
        1.0 / (count * collected)
    } else {
        0.0
    };
    let share = cwnd / rtt / rate;
    Growth::Linked(share * share + alpha)
}
