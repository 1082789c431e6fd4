//! Endpoints without tokio for their user.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use anabranch_live::{EndpointConfig, Message, blocking::Endpoint};

#[test]
fn a_thread_reads_one_stream_and_waits_for_what_is_no_event() {
    let local = ["127.0.0.1:0".parse().unwrap()];
    let server = Endpoint::bind(&local, EndpointConfig::on_port(5000)).unwrap();
    server.listen().unwrap();
    let at = server.local_addresses()[0];
    let answering = std::thread::spawn(move || {
        let association = server.accept().unwrap().accept().unwrap();
        let stream = association.stream(3);
        // Messages on other streams are left for their readers.
        assert_eq!(stream.recv().unwrap().unwrap().into_bytes(), "question");
        assert_eq!((stream.number(), stream.association().snapshot().is_some()), (3, true));
        stream.send(Message::new(9, "answer")).unwrap();
        assert_eq!(association.recv().unwrap().unwrap().into_bytes(), "elsewhere");
        assert!(association.recv().unwrap().is_none());
    });
    let client = Endpoint::bind(&local, EndpointConfig::default()).unwrap();
    let association = client.connect(at, 5000).unwrap();
    assert!(association.outbound_streams() > 3);
    association.send("elsewhere").unwrap();
    association.stream(3).send("question").unwrap();
    let answer = association.recv().unwrap().unwrap();
    assert_eq!((answer.stream, answer.into_bytes()), (3, "answer".into()));
    // An acknowledgement is no event.
    let acknowledged = association.until(|association| {
        let snapshot = association.snapshot();
        (snapshot.stats.payload_bytes_unique > 0 && association.holdings().0 == 0)
            .then_some(snapshot.stats.payload_bytes_unique)
    });
    assert_eq!(acknowledged, Some(17));
    association.shutdown().unwrap();
    answering.join().unwrap();
}
