//! A process that is out of file descriptors. It is the only test of its process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_live::{BindError, Endpoint, EndpointConfig};

#[tokio::test]
async fn who_is_out_of_descriptors_is_told_and_what_lives_lives_on() {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = Endpoint::bind(&[local], EndpointConfig::on_port(5000)).unwrap();
    server.listen().unwrap();
    let client = Endpoint::bind(&[local], EndpointConfig::default()).unwrap();
    let mut held = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
        assert!(held.len() < 2_000_000);
    }
    let error = Endpoint::bind(&[local], EndpointConfig::default()).unwrap_err();
    assert!(matches!(error, BindError::Socket { .. }), "{error}");
    // An association needs no descriptor.
    let at = server.local_addresses()[0];
    let whole = async {
        let (ours, theirs) = tokio::join!(client.connect(at, 5000), async {
            server.accept().await.unwrap().accept().unwrap()
        });
        let ours = ours.unwrap();
        ours.send("hello").await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "hello");
        ours.shutdown().await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), whole).await.unwrap();
}
