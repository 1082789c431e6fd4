//! Traces of ends as qlog (draft-ietf-quic-qlog-main-schema): JSON text sequences (RFC 7464), a file for each end of a flow.
//! `docs/trace.md` has the events; what recovery says goes by the names of draft-ietf-quic-qlog-quic-events.

use std::io::Write;
use std::path::{Path, PathBuf};

use anabranch_sim::{Columns, Summary};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::files;

/// RFC 7464: in front of each text.
const RECORD_SEPARATOR: &[u8] = b"\x1e";

/// The file of one end (`flow:sender`) in this directory.
pub(crate) fn path(directory: &Path, seed: u64, end: &str) -> PathBuf {
    directory.join(format!("{}-{seed}.sqlog", end.replace(':', "-")))
}

/// Writes the ends of all flows into a directory.
pub(crate) fn write(columns: &Columns, summary: &Summary, directory: &Path) -> Result<(), Failure> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); columns.entities.len()];
    for (row, &entity) in columns.entity.iter().enumerate() {
        if let Some(of) = rows.get_mut(usize::from(entity)) {
            of.push(row);
        }
    }
    let ends = summary.flows.iter().flat_map(|flow| ["sender", "receiver"].map(|end| (flow, end)));
    for (flow, end) in ends {
        let name = format!("{}:{end}", flow.name);
        let Some(entity) = columns.entities.iter().position(|entity| *entity == name) else { continue };
        let about = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": format!("{name}, seed {}", summary.seed),
            "trace": {
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                    "protocol_types": [flow.protocol.to_uppercase()],
                    "anabranch_flow": flow.name,
                    "anabranch_seed": summary.seed,
                    "anabranch_engine": flow.engine,
                },
                // The sender opens most flows; qlog has no other words.
                "vantage_point": {
                    "name": name,
                    "type": if end == "sender" { "client" } else { "server" },
                },
                "event_schemas": ["urn:anabranch:qlog:1"],
            },
        });
        files::write(&path(directory, summary.seed, &name), |out| {
            record(out, &about)?;
            let told = rows.get(entity).map_or(&[][..], Vec::as_slice);
            told.iter().filter_map(|&row| event(columns, row)).try_for_each(|event| record(out, &event))
        })?;
    }
    Ok(())
}

fn record(out: &mut dyn Write, value: &Value) -> std::io::Result<()> {
    out.write_all(RECORD_SEPARATOR)?;
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Nanoseconds as milliseconds.
fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// The event in a row; `None` for what belongs to no end.
fn event(columns: &Columns, row: usize) -> Option<Value> {
    let of = |column: &[u64]| column.get(row).copied().unwrap_or(0);
    let (seq, a, b, c) = (of(&columns.seq), of(&columns.a), of(&columns.b), of(&columns.c));
    let length = columns.size.get(row).copied().unwrap_or(0);
    let kinds = Columns::kinds();
    let kind = *kinds.get(usize::from(*columns.kind.get(row)?))?;
    let reason = columns.reason.get(row).map_or(0, |&reason| usize::from(reason));
    let reason = Columns::reasons().get(reason).copied().unwrap_or("");
    let (name, data) = match kind {
        "sent" if reason.is_empty() => {
            ("anabranch:data_sent", json!({ "first_sequence_number": seq, "length": length }))
        }
        "sent" => (
            "anabranch:data_sent",
            json!({ "first_sequence_number": seq, "length": length, "retransmission": reason }),
        ),
        "received" => (
            "anabranch:data_received",
            json!({ "first_sequence_number": seq, "length": length, "duplicate": reason == "duplicate" }),
        ),
        "ack" => (
            "anabranch:acknowledgement_received",
            json!({ "next_expected": seq, "newly_acked": length, "gap_blocks": a }),
        ),
        "window" => (
            "recovery:metrics_updated",
            json!({ "congestion_window": a, "ssthresh": b, "bytes_in_flight": c }),
        ),
        "rtt" => (
            "recovery:metrics_updated",
            json!({ "latest_rtt": ms(a), "smoothed_rtt": ms(b), "anabranch_rto": ms(c) }),
        ),
        "fast-retransmit" => ("anabranch:fast_retransmit", json!({ "first_sequence_number": seq })),
        "timeout" => ("anabranch:timeout", json!({ "rto": ms(a) })),
        _ => return None,
    };
    let mut event = Map::new();
    event.insert("time".to_owned(), json!(ms(of(&columns.time_ns))));
    event.insert("name".to_owned(), json!(name));
    // Only where there are several.
    for (key, column) in [("anabranch_subflow", &columns.subflow), ("anabranch_path", &columns.path)] {
        if let Some(&number) = column.get(row).filter(|&&number| number > 0) {
            event.insert(key.to_owned(), json!(number));
        }
    }
    event.insert("data".to_owned(), data);
    Some(Value::Object(event))
}
