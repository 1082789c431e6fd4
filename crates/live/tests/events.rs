//! The spans and events for `tracing`. It is the only test of its process, because `tracing` caches for all threads
//! whether a subscriber wants an event, and asks the thread that comes first.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use anabranch_live::{Endpoint, EndpointConfig};
use common::talk::{Shown, talk};
use common::{PORT, in_time, local, soon_gives_up};

#[tokio::test]
async fn tracing_hears_of_beginnings_ends_and_losses() {
    in_time(async {
        let said = Shown::default();
        let writer = said.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
            .with_writer(move || writer.clone())
            .finish();
        let heard = tracing::subscriber::set_default(subscriber);
        let counted = talk(EndpointConfig::on_port(4322)).await;
        // An association that the peer does not answer.
        let silent = std::net::UdpSocket::bind(local()).unwrap();
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(soon_gives_up())).unwrap();
        let _refused = client.connect(silent.local_addr().unwrap(), PORT).await.unwrap_err();
        drop(heard);
        let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
        let lines =
            |has: &[&str]| text.lines().filter(|line| has.iter().all(|part| line.contains(part))).count();
        assert_eq!(lines(&["INFO", "port=4322", "association{peer=127.0.0.1:", "established"]), 1, "{text}");
        assert_eq!(lines(&["INFO", "port=4322", "closed", "both sides have shut it down"]), 1, "{text}");
        assert_eq!(lines(&["WARN", "closed", "the peer did not answer"]), 1, "{text}");
        assert_eq!(
            lines(&["DEBUG", "port=4322", "sent again"]) as u64,
            counted.stats.retransmissions,
            "{text}"
        );
        assert_eq!(lines(&["DEBUG", "port=4322", "T3-rtx expired"]) as u64, counted.stats.timeouts, "{text}");
        // Not one line for each packet.
        assert_eq!(lines(&["TRACE"]), 0);
    })
    .await;
}
