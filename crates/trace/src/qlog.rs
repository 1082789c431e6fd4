//! qlog (draft-ietf-quic-qlog-main-schema): JSON text sequences (RFC 7464) of the events at an end.
//! `docs/reference/trace.md` has the events; an event with an equivalent in QUIC has its name there, which tools that
//! plot QUIC look for.

use std::io::Write;

use anabranch_base::{Instant, RetransmitReason, TraceEvent, TraceRecord};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::{Checksum, Packet};
use serde_json::{Map, Value, json};

use crate::write::Way;

/// RFC 7464: in front of each text.
const RECORD_SEPARATOR: &[u8] = b"\x1e";

/// The side of an association that the file records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// The one that begins it.
    Client,
    /// The one that waits for it.
    Server,
}

/// The first text of a file. `common` are fields that hold for each event; `began` is the time of day that event times count from (RFC
/// 3339), `None` where time is virtual.
///
/// It names its format in two ways: as the current drafts do, and as draft-02 did, for qvis.
#[must_use]
pub fn head(
    title: &str,
    (name, vantage): (&str, Vantage),
    began: Option<&str>,
    common: Map<String, Value>,
) -> Value {
    let mut fields = common;
    fields.insert("time_format".to_owned(), json!("relative_to_epoch"));
    let mut reference = json!({ "clock_type": "monotonic", "epoch": "unknown" });
    if let (Value::Object(fields), Some(began)) = (&mut reference, began) {
        fields.insert("wall_clock_time".to_owned(), json!(began));
    }
    fields.insert("reference_time".to_owned(), reference);
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": title,
        "trace": {
            "common_fields": fields,
            "vantage_point": {
                "name": name,
                "type": match vantage { Vantage::Client => "client", Vantage::Server => "server" },
            },
            "event_schemas": ["urn:anabranch:qlog:1"],
        },
    })
}

/// Writes one text.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, value: &Value) -> std::io::Result<()> {
    out.write_all(RECORD_SEPARATOR)?;
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Nanoseconds as milliseconds.
fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// An event. `group` says of which association where a file has several.
#[must_use]
pub fn named(at: Instant, name: &str, group: Option<&str>, data: Value) -> Value {
    let mut event = Map::new();
    event.insert("time".to_owned(), json!(ms(at.as_nanos())));
    event.insert("name".to_owned(), json!(name));
    if let Some(group) = group {
        event.insert("group_id".to_owned(), json!(group));
    }
    event.insert("data".to_owned(), data);
    Value::Object(event)
}

/// The qlog event of a record that an engine has reported.
#[must_use]
pub fn event(record: &TraceRecord, group: Option<&str>) -> Value {
    let (name, data) = match record.event {
        TraceEvent::Sent { seq, len, retransmit: None } => {
            ("anabranch:data_sent", json!({ "first_sequence_number": seq, "length": len }))
        }
        TraceEvent::Sent { seq, len, retransmit: Some(why) } => (
            "anabranch:data_sent",
            json!({ "first_sequence_number": seq, "length": len, "retransmission": reason(why) }),
        ),
        TraceEvent::Received { seq, len, duplicate } => (
            "anabranch:data_received",
            json!({ "first_sequence_number": seq, "length": len, "duplicate": duplicate }),
        ),
        TraceEvent::AckReceived { cumulative, newly_acked, gaps } => (
            "anabranch:acknowledgement_received",
            json!({ "next_expected": cumulative, "newly_acked": newly_acked, "gap_blocks": gaps }),
        ),
        TraceEvent::Window { cwnd, ssthresh, flight } => (
            "recovery:metrics_updated",
            json!({ "congestion_window": cwnd, "ssthresh": ssthresh, "bytes_in_flight": flight }),
        ),
        TraceEvent::Rtt { sample, srtt, rto } => (
            "recovery:metrics_updated",
            json!({
                "latest_rtt": ms(sample.as_nanos()),
                "smoothed_rtt": ms(srtt.as_nanos()),
                "anabranch_rto": ms(rto.as_nanos()),
            }),
        ),
        TraceEvent::FastRetransmit { seq } => {
            ("anabranch:fast_retransmit", json!({ "first_sequence_number": seq }))
        }
        TraceEvent::Timeout { rto } => ("anabranch:timeout", json!({ "rto": ms(rto.as_nanos()) })),
    };
    let mut event = named(record.at, name, group, data);
    if let Value::Object(fields) = &mut event {
        // Only where there are several.
        for (key, number) in [("anabranch_subflow", record.subflow), ("anabranch_path", record.path)] {
            if number > 0 {
                fields.insert(key.to_owned(), json!(number));
            }
        }
    }
    event
}

/// Why something was sent again, as traces have it.
#[must_use]
pub const fn reason(why: RetransmitReason) -> &'static str {
    match why {
        RetransmitReason::FastRetransmit => "fast-retransmit",
        RetransmitReason::Recovery => "recovery",
        RetransmitReason::Timeout => "timeout",
        RetransmitReason::Probe => "probe",
    }
}

/// An SCTP packet that has left or come. SCTP does not number packets, so `number` counts them; the chunks are the frames.
#[must_use]
pub fn packet(at: Instant, way: Way, group: &str, number: u64, bytes: &[u8]) -> Value {
    let name = match way {
        Way::Out => "transport:packet_sent",
        Way::In => "transport:packet_received",
    };
    let mut data = json!({
        "header": { "packet_type": "sctp", "packet_number": number },
        "raw": { "length": bytes.len() },
    });
    if let (Ok(packet), Value::Object(fields)) = (Packet::parse(bytes, Checksum::Ignore), &mut data) {
        let frames: Vec<Value> = packet.chunks().map_while(Result::ok).map(frame).collect();
        fields.insert("frames".to_owned(), Value::Array(frames));
    }
    named(at, name, Some(group), data)
}

fn frame(raw: anabranch_wire::RawChunk<'_>) -> Value {
    let length = raw.bytes.len();
    let Ok(chunk) = Chunk::parse(raw) else {
        return json!({ "frame_type": "malformed", "length": length });
    };
    let plain = |name: &str| json!({ "frame_type": name, "length": length });
    match chunk {
        Chunk::Data(data) => json!({
            "frame_type": "data", "tsn": data.tsn.get(), "stream_id": data.stream, "ssn": data.ssn.get(),
            "unordered": data.flags.unordered, "beginning": data.flags.beginning, "ending": data.flags.ending,
            "length": data.payload.len(),
        }),
        Chunk::IData(data) => json!({
            "frame_type": "i_data", "tsn": data.tsn.get(), "stream_id": data.stream, "mid": data.mid.get(),
            "unordered": data.flags.unordered, "beginning": data.flags.beginning, "ending": data.flags.ending,
            "length": data.payload.len(),
        }),
        Chunk::Sack(sack) => json!({
            "frame_type": "sack", "cumulative_tsn": sack.cumulative.get(), "window": sack.a_rwnd,
            "gap_blocks": sack.gaps().map(|gap| json!([gap.start, gap.end])).collect::<Vec<_>>(),
            "selected": sack.selected, "duplicates": sack.duplicate_count(),
        }),
        Chunk::Init(_) => plain("init"),
        Chunk::InitAck(_) => plain("init_ack"),
        Chunk::Heartbeat(_) => plain("heartbeat"),
        Chunk::HeartbeatAck(_) => plain("heartbeat_ack"),
        Chunk::Abort(_) => plain("abort"),
        Chunk::Shutdown(_) => plain("shutdown"),
        Chunk::ShutdownAck(_) => plain("shutdown_ack"),
        Chunk::Error(_) => plain("error"),
        Chunk::CookieEcho(_) => plain("cookie_echo"),
        Chunk::CookieAck(_) => plain("cookie_ack"),
        Chunk::Ecne(_) => plain("ecne"),
        Chunk::Cwr(_) => plain("cwr"),
        Chunk::ShutdownComplete(_) => plain("shutdown_complete"),
        Chunk::ReConfig(_) => plain("re_config"),
        Chunk::Pad(_) => plain("pad"),
        Chunk::ForwardTsn(_) => plain("forward_tsn"),
        Chunk::IForwardTsn(_) => plain("i_forward_tsn"),
        Chunk::SfData(_) => plain("sf_data"),
        Chunk::SfSack(_) => plain("sf_sack"),
        Chunk::SfForward(_) => plain("sf_forward"),
        Chunk::Unknown(raw) => json!({ "frame_type": "unknown", "chunk_type": raw.kind, "length": length }),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_base::Duration;
    use anabranch_wire::chunk::{Data, DataFlags, sack};
    use anabranch_wire::{Ssn, Tsn};

    use super::*;

    #[test]
    fn a_packet_has_its_chunks_as_frames_and_damage_ends_them() {
        let mut bytes = [0x13, 0x88, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 0].to_vec();
        let gaps = [sack::GapBlock { start: 2, end: 3 }];
        sack::emit(&mut bytes, Tsn::new(7), 1000, &gaps, &[]);
        let flags = DataFlags::WHOLE;
        Data { flags, tsn: Tsn::new(9), stream: 3, ssn: Ssn::new(4), ppid: 0, payload: b"hello" }
            .emit(&mut bytes);
        let told = packet(Instant::from_nanos(1_500_000), Way::Out, "peer", 5, &bytes);
        assert_eq!((&told["name"], &told["time"]), (&json!("transport:packet_sent"), &json!(1.5)));
        assert_eq!(told["data"]["header"]["packet_number"], 5);
        let frames = &told["data"]["frames"];
        assert_eq!((&frames[0]["frame_type"], &frames[0]["gap_blocks"]), (&json!("sack"), &json!([[2, 3]])));
        assert_eq!((&frames[1]["stream_id"], &frames[1]["length"]), (&json!(3), &json!(5)));
        // A chunk whose length exceeds the packet; and bytes that are no packet at all.
        bytes.extend([4, 0, 0, 200]);
        let cut = packet(Instant::ZERO, Way::In, "peer", 0, &bytes);
        assert_eq!(cut["data"]["frames"].as_array().map(Vec::len), Some(2));
        assert_eq!(packet(Instant::ZERO, Way::In, "peer", 0, &[1, 2])["data"]["frames"], Value::Null);
    }

    #[test]
    fn what_quic_has_a_name_for_goes_by_that_name() {
        let event = TraceEvent::Rtt {
            sample: Duration::from_millis(30),
            srtt: Duration::from_millis(20),
            rto: Duration::from_millis(200),
        };
        let record = TraceRecord { at: Instant::ZERO, association: 0, subflow: 2, path: 0, event };
        let told = super::event(&record, None);
        assert_eq!(
            (&told["name"], &told["anabranch_subflow"]),
            (&json!("recovery:metrics_updated"), &json!(2))
        );
        assert_eq!(told["data"], json!({ "latest_rtt": 30.0, "smoothed_rtt": 20.0, "anabranch_rto": 200.0 }));
        assert!(told.get("group_id").is_none() && told.get("anabranch_path").is_none());
    }
}
