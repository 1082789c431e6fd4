use super::*;

/// Streams with messages of so many chunks of so many bytes each, sent in the order that the scheduler says.
struct Bench {
    scheduler: Scheduler,
    queues: Vec<VecDeque<(usize, usize)>>,
    interleaves: bool,
}

impl Bench {
    fn new(kind: StreamScheduling, values: &[(u16, u16)], interleaves: bool) -> Self {
        let config = Config::rfc9260().with(|c| {
            c.streams.scheduling = kind;
            c.streams.values = values.to_vec();
        });
        Self { scheduler: Scheduler::new(&config), queues: vec![VecDeque::new(); 4], interleaves }
    }

    fn push(&mut self, stream: u16, chunks: usize, bytes: usize) {
        let queue = &mut self.queues[usize::from(stream)];
        self.scheduler.queued(stream, queue.is_empty());
        queue.push_back((chunks, bytes));
    }

    fn chunk(&mut self) -> Option<u16> {
        let stream = self.scheduler.next()?;
        let queue = &mut self.queues[usize::from(stream)];
        let (chunks, bytes) = queue.front_mut().unwrap();
        *chunks -= 1;
        let (ending, bytes) = (*chunks == 0, *bytes);
        if ending {
            queue.pop_front();
        }
        let more = !queue.is_empty();
        self.scheduler.left(Left { stream, bytes, ending, more, interleaves: self.interleaves });
        Some(stream)
    }

    /// The streams of the next `count` chunks, `per_packet` of them in a packet.
    fn run(&mut self, count: usize, per_packet: usize) -> Vec<u16> {
        let mut all = Vec::new();
        while all.len() < count {
            let before = all.len();
            while all.len() - before < per_packet {
                match self.chunk() {
                    Some(stream) => all.push(stream),
                    None => break,
                }
            }
            self.scheduler.packet_ended();
            if all.len() == before {
                break;
            }
        }
        all
    }
}

/// The streams of figures 1 and 2 of RFC 8260: three chunks in one message, three messages, three chunks.
fn figure(kind: StreamScheduling, interleaves: bool, per_packet: usize) -> Vec<u16> {
    let mut bench = Bench::new(kind, &[(0, 5), (2, 3)], interleaves);
    bench.push(0, 3, 100);
    for _ in 0..3 {
        bench.push(1, 1, 100);
    }
    bench.push(2, 3, 100);
    let all = bench.run(100, per_packet);
    assert_eq!(bench.scheduler.next(), None);
    all
}

// rfc8260:3-1
#[test]
fn the_figures_of_the_rfc() {
    use StreamScheduling::{FairCapacity, Fcfs, Priority, RoundRobin, RoundRobinPacket, WeightedFair};
    // Figure 1, and figure 2.
    assert_eq!(figure(RoundRobin, false, 1), [0, 0, 0, 1, 2, 2, 2, 1, 1]);
    assert_eq!(figure(RoundRobin, true, 1), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    for interleaves in [false, true] {
        assert_eq!(figure(Fcfs, interleaves, 2), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        // Stream 1 has the default value, 1: it is the most important.
        assert_eq!(figure(Priority, interleaves, 2), [1, 1, 1, 2, 2, 2, 0, 0, 0]);
    }
    // Two chunks in a packet, of one stream.
    assert_eq!(figure(RoundRobinPacket, true, 2), [0, 0, 1, 1, 2, 2, 0, 1, 2]);
    assert_eq!(figure(RoundRobinPacket, false, 2), [0, 0, 0, 1, 1, 2, 2, 2, 1]);
    assert_eq!(figure(FairCapacity, true, 1), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(figure(FairCapacity, false, 1), [0, 0, 0, 1, 2, 2, 2, 1, 1]);
    assert_eq!(figure(WeightedFair, true, 1), [0, 1, 2, 0, 2, 0, 2, 1, 1]);
}

#[test]
fn a_message_on_a_more_important_stream_waits_for_a_chunk_or_for_a_message() {
    for (interleaves, expected) in [(true, [2, 0, 0, 2]), (false, [2, 2, 2, 0])] {
        let mut bench = Bench::new(StreamScheduling::Priority, &[(0, 0)], interleaves);
        bench.push(2, 3, 1000);
        assert_eq!(bench.run(1, 1), [2]);
        bench.push(0, 1, 10);
        bench.push(0, 1, 10);
        assert_eq!([vec![2], bench.run(3, 1)].concat(), expected);
    }
}

// rfc8260:3-1
#[test]
fn shares_are_bytes_over_weights() {
    for interleaves in [false, true] {
        let mut bench = Bench::new(StreamScheduling::WeightedFair, &[(0, 4), (1, 2)], interleaves);
        for _ in 0..2000 {
            bench.push(0, 3, 500);
            bench.push(1, 1, 1000);
            bench.push(2, 2, 100);
        }
        let sent = bench.run(1500, 3);
        let bytes = |stream: u16, size: usize| sent.iter().filter(|s| **s == stream).count() * size;
        let (a, b, c) = (bytes(0, 500), bytes(1, 1000), bytes(2, 100));
        // Within a message of the shares by the weights 4, 2 and 1.
        assert!(a.abs_diff(2 * b) <= 4 * 1000 && a.abs_diff(4 * c) <= 4 * 1500, "{a} {b} {c}");
    }
}

#[test]
fn a_stream_that_was_silent_gets_nothing_for_it() {
    let mut bench = Bench::new(StreamScheduling::FairCapacity, &[], true);
    for _ in 0..100 {
        bench.push(0, 1, 1000);
    }
    bench.run(50, 1);
    for _ in 0..50 {
        bench.push(1, 1, 1000);
    }
    let sent = bench.run(40, 1);
    assert_eq!(sent.iter().filter(|s| **s == 1).count(), 20, "{sent:?}");
}

#[test]
fn values_change_while_messages_wait() {
    let mut bench = Bench::new(StreamScheduling::Priority, &[], true);
    for stream in 0..3 {
        bench.push(stream, 2, 10);
    }
    bench.scheduler.set_value(2, 0);
    bench.scheduler.set_value(0, 7);
    assert_eq!(bench.run(9, 1), [2, 2, 1, 1, 0, 0]);
}

#[test]
fn streams_that_are_taken_away() {
    for kind in StreamScheduling::ALL {
        let mut bench = Bench::new(kind, &[], false);
        bench.push(1, 2, 10);
        bench.push(1, 1, 10);
        bench.push(2, 1, 10);
        bench.queues[1].clear();
        bench.scheduler.retain(|stream| stream != 1);
        assert_eq!(bench.run(9, 1), vec![2], "{kind:?}");
        bench.push(3, 1, 10);
        bench.scheduler.clear();
        assert_eq!(bench.scheduler.next(), None);
    }
}
