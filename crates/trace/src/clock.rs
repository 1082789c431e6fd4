//! Times of a capture that go back: the clock was set, or files were put together as they came.
//!
//! Packets keep the order in which an interface recorded them, also where the clock went back. So time is cut into stretches in each of
//! which it goes on; between two of them no time is measured.

use std::collections::BTreeMap;

use crate::capture::Capture;

/// Several queues of a network card are read one after the other: so much out of order, times are right and the order is not.
const JITTER_NS: i64 = 1_000_000;

/// For each frame the number of its stretch of time, and a sentence if there is more than one.
pub(crate) fn stretches(capture: &Capture<'_>) -> (Vec<u32>, Option<String>) {
    // The latest time and the stretch of each interface.
    let mut now: BTreeMap<u32, (i64, u32)> = BTreeMap::new();
    let mut steps = 0_u64;
    let mut first: Option<(u64, i64)> = None;
    let stretches = capture
        .frames
        .iter()
        .map(|frame| {
            let (latest, stretch) = now.entry(frame.interface).or_insert((frame.time_ns, 0));
            let back = latest.saturating_sub(frame.time_ns);
            if back > JITTER_NS {
                *stretch = stretch.saturating_add(1);
                *latest = frame.time_ns;
                steps += 1;
                first.get_or_insert((frame.number, back));
            } else {
                *latest = (*latest).max(frame.time_ns);
            }
            *stretch
        })
        .collect();
    let note = first.map(|(number, back)| {
        let times = if steps == 1 { "once".to_owned() } else { format!("{steps} times") };
        let seconds = back as f64 / 1e9;
        format!(
            "times go back {times}, first at frame {number} by {seconds:.6} s: packets count in the order of the file, and nothing is measured \
             across (reordercap of Wireshark sorts by time)"
        )
    });
    (stretches, note)
}
