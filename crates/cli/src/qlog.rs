//! Traces of simulated ends as qlog, a file for each end of a flow. `docs/reference/trace.md` has the events.

use std::path::{Path, PathBuf};

use anabranch_base::{Duration, Instant, RetransmitReason, TraceEvent, TraceRecord};
use anabranch_sim::{Columns, Summary};
use anabranch_trace::qlog::{self, Vantage};
use serde_json::json;

use crate::failure::Failure;
use crate::files;

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
        let common = [
            ("protocol_types", json!([flow.protocol.to_uppercase()])),
            ("anabranch_flow", json!(flow.name)),
            ("anabranch_seed", json!(summary.seed)),
            ("anabranch_engine", json!(flow.engine)),
        ];
        let common = common.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        // The sender opens most flows; qlog has no other words.
        let vantage = if end == "sender" { Vantage::Client } else { Vantage::Server };
        let title = format!("{name}, seed {}", summary.seed);
        let head = qlog::head(&title, (&name, vantage), None, common);
        files::write(&path(directory, summary.seed, &name), |out| {
            qlog::write(out, &head)?;
            let told = rows.get(entity).map_or(&[][..], Vec::as_slice);
            let mut events = told.iter().filter_map(|&row| record(columns, row));
            events.try_for_each(|record| qlog::write(out, &qlog::event(&record, None)))
        })?;
    }
    Ok(())
}

/// The event in a row as the engine has reported it; `None` for rows that no endpoint has reported.
fn record(columns: &Columns, row: usize) -> Option<TraceRecord> {
    let of = |column: &[u64]| column.get(row).copied().unwrap_or(0);
    let (seq, a, b, c) = (of(&columns.seq), of(&columns.a), of(&columns.b), of(&columns.c));
    let len = columns.size.get(row).copied().unwrap_or(0);
    let kinds = Columns::kinds();
    let kind = *kinds.get(usize::from(*columns.kind.get(row)?))?;
    let why = columns.reason.get(row).map_or(0, |&reason| usize::from(reason));
    let why = Columns::reasons().get(why).copied().unwrap_or("");
    let event = match kind {
        "sent" => {
            let all = [
                RetransmitReason::FastRetransmit,
                RetransmitReason::Recovery,
                RetransmitReason::Timeout,
                RetransmitReason::Probe,
            ];
            let retransmit = all.into_iter().find(|known| qlog::reason(*known) == why);
            TraceEvent::Sent { seq, len, retransmit }
        }
        "received" => TraceEvent::Received { seq, len, duplicate: why == "duplicate" },
        "ack" => TraceEvent::AckReceived { cumulative: seq, newly_acked: len, gaps: a as u16 },
        "window" => TraceEvent::Window { cwnd: a, ssthresh: b, flight: c },
        "rtt" => TraceEvent::Rtt {
            sample: Duration::from_nanos(a),
            srtt: Duration::from_nanos(b),
            rto: Duration::from_nanos(c),
        },
        "fast-retransmit" => TraceEvent::FastRetransmit { seq },
        "timeout" => TraceEvent::Timeout { rto: Duration::from_nanos(a) },
        _ => return None,
    };
    let small = |column: &[u8]| column.get(row).copied().unwrap_or(0);
    Some(TraceRecord {
        at: Instant::from_nanos(of(&columns.time_ns)),
        association: 0,
        subflow: small(&columns.subflow),
        path: small(&columns.path),
        event,
    })
}
