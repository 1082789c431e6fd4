//! Idle associations between two endpoints: the memory that each takes. It is the only test of its process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::sync::Arc;

use anabranch_live::default_association;
use common::{PORT, client, in_time, server};

const COUNT: usize = 3000;
/// Both ends of an association that has carried a message, with the overhead of the allocator: 9,895 bytes were measured, and 5 % beside
/// that. docs/performance.md has the figure for 100,000.
const MOST: usize = 10_390;

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn thousands_of_idle_associations_of_two_endpoints_stay_small() {
    in_time(async {
        let (server, at) = server();
        server.open_port(PORT + 1).unwrap();
        let client = client();
        let config = Arc::new(default_association());
        let mut held = Vec::with_capacity(2 * COUNT);
        let mut before = 0;
        for number in 0..COUNT {
            let port = PORT + (number % 2) as u16;
            let ours = client.begin_from(0, at, port, Arc::clone(&config)).unwrap();
            ours.send("hello").await.unwrap();
            let theirs = server.accept().await.unwrap().accept().unwrap();
            assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "hello");
            held.extend([ours, theirs]);
            if number == COUNT / 3 {
                before = resident();
            }
        }
        assert_eq!((client.associations(), server.associations()), (COUNT, COUNT));
        let each = (resident() - before) / (COUNT - COUNT / 3);
        assert!(
            (2000..MOST).contains(&each),
            "{each} bytes for both ends of an association, of {MOST} at most"
        );
        // The idle associations still work.
        held[0].send("still here").await.unwrap();
        assert_eq!(held[1].recv().await.unwrap().unwrap().into_bytes(), "still here");
    })
    .await;
}
