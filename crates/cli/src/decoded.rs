//! Captures as people read them: lines and tables.

use std::fmt::Write as _;

use anabranch_trace::report::{BottleneckReport, DirectionReport, FlowReport, PacketLine, Retransmission};
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::fitting::{Column, fit};
use crate::terminal;

/// The name that JSON has for a value.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// A table whose columns from `numbers` on stand to the right. Where it would be wider than the terminal it goes on below, and
/// the first `names` columns come again.
fn table(head: &[&str], names: usize, numbers: usize, rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.collect();
    let columns: Vec<Column> = head
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let cells = rows.iter().map(|row| row.get(at).cloned().unwrap_or_default()).collect();
            let alignment = if at < numbers { CellAlignment::Left } else { CellAlignment::Right };
            Column::new(*head, cells, alignment)
        })
        .collect();
    let (names, others) = columns.split_at(names.min(columns.len()));
    fit(names, others, terminal::width()).join("\n\n") + "\n"
}

/// A line a packet.
pub(crate) fn packets(lines: &[PacketLine]) -> String {
    let mut out = String::new();
    let interfaces = lines.windows(2).any(|pair| match pair {
        [a, b] => a.interface != b.interface,
        _ => false,
    });
    for line in lines {
        let flow = line.flow.map_or_else(|| "-".to_owned(), |flow| flow.to_string());
        let interface = if interfaces { format!(" {}", line.interface) } else { String::new() };
        // Writing to a String does not fail.
        let _ = writeln!(
            out,
            "{:>5} {:.6} #{flow}{interface} {} > {} {} {} B {}",
            line.number, line.time_s, line.source, line.destination, line.protocol, line.size, line.info
        );
    }
    out
}

/// Flows, a row for each direction; then the bytes by purpose.
pub(crate) fn flows(flows: &[FlowReport]) -> String {
    if flows.is_empty() {
        return "no flows of SCTP or TCP\n".to_owned();
    }
    let heads = flows.iter().map(|flow| {
        vec![
            flow.id.to_string(),
            match flow.encoding {
                "plain" => flow.protocol.to_owned(),
                encoding => format!("{} {encoding}", flow.protocol),
            },
            flow.client.clone(),
            flow.server.clone(),
            name(&flow.ending),
            format!("{:.6}", flow.start_s),
            format!("{:.6}", flow.duration_s),
            flow.handshake_s.map_or_else(String::new, |seconds| format!("{seconds:.6}")),
        ]
    });
    let head = ["flow", "protocol", "client", "server", "ending", "start s", "lasts s", "handshake s"];
    let mut out = table(&head, 1, 5, heads);
    let both =
        || flows.iter().flat_map(|flow| [(flow, "client", &flow.forward), (flow, "server", &flow.back)]);
    let rows = both().map(|(flow, who, side)| direction(flow.id, who, side));
    let head = [
        "flow",
        "sent by",
        "at",
        "packets",
        "with data",
        "again",
        "spurious",
        "bytes",
        "goodput kbit/s",
        "rtt min ms",
        "mean",
        "max",
        "window min B",
        "max",
        "closed",
    ];
    out.push('\n');
    out.push_str(&table(&head, 2, 3, rows));
    let rows = both().map(|(flow, who, side)| {
        let bytes = &side.purposes;
        let share = side.overhead_bytes as f64 / (side.bytes.max(1)) as f64 * 100.0;
        let counts = [
            bytes.payload,
            bytes.payload_again,
            bytes.network_headers,
            bytes.transport_headers,
            bytes.chunk_headers,
            bytes.acknowledgements,
            bytes.handshake,
            bytes.teardown,
            bytes.control,
            side.overhead_bytes,
        ];
        let mut row = vec![flow.id.to_string(), who.to_owned()];
        row.extend(counts.iter().map(u64::to_string));
        row.push(format!("{share:.2}"));
        row
    });
    let head = [
        "bytes of",
        "sent by",
        "data",
        "data again",
        "IP",
        "transport",
        "chunks",
        "acks",
        "handshake",
        "teardown",
        "control",
        "overhead",
        "%",
    ];
    out.push('\n');
    out.push_str(&table(&head, 2, 2, rows));
    let copies: Vec<String> = both()
        .filter(|(_, _, side)| side.copies > 0)
        .map(|(flow, who, side)| {
            format!(
                "flow {}, sent by the {who}: {} packets recorded twice, counted once\n",
                flow.id, side.copies
            )
        })
        .collect();
    if !copies.is_empty() {
        out.push('\n');
        out.push_str(&copies.concat());
    }
    let reasons: Vec<String> = both()
        .filter(|(_, _, side)| !side.reasons.is_empty() || side.control_again > 0)
        .map(|(flow, who, side)| {
            let mut told: Vec<String> =
                side.reasons.iter().map(|(reason, count)| format!("{} {count}", name(reason))).collect();
            if side.control_again > 0 {
                told.push(format!("control {}", side.control_again));
            }
            format!("flow {}, sent again by the {who}: {}\n", flow.id, told.join(", "))
        })
        .collect();
    if !reasons.is_empty() {
        out.push('\n');
        out.push_str(&reasons.concat());
    }
    out
}

fn direction(flow: u32, who: &str, side: &DirectionReport) -> Vec<String> {
    let rtt = |pick: fn(&anabranch_trace::report::RttReport) -> f64| {
        side.rtt.as_ref().map_or_else(String::new, |rtt| format!("{:.3}", pick(rtt) * 1e3))
    };
    let optional = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    vec![
        flow.to_string(),
        who.to_owned(),
        side.interface.clone().unwrap_or_default(),
        side.packets.to_string(),
        side.data_packets.to_string(),
        side.packets_again.to_string(),
        side.spurious.to_string(),
        side.bytes.to_string(),
        side.goodput_bps.map_or_else(String::new, |rate| format!("{:.3}", rate / 1e3)),
        rtt(|rtt| rtt.min_s),
        rtt(|rtt| rtt.mean_s),
        rtt(|rtt| rtt.max_s),
        optional(side.window_min),
        optional(side.window_max),
        side.zero_windows.to_string(),
    ]
}

/// A row for each retransmission.
pub(crate) fn retransmissions(list: &[Retransmission]) -> String {
    if list.is_empty() {
        return "nothing was sent again\n".to_owned();
    }
    let rows = list.iter().map(|again| {
        vec![
            again.number.to_string(),
            again.flow.to_string(),
            if again.back { "server" } else { "client" }.to_owned(),
            name(&again.reason),
            again.spurious.as_ref().map(name).unwrap_or_default(),
            match again.subflow {
                Some(subflow) => format!("{} of {subflow}", again.what),
                None => again.what.to_owned(),
            },
            again.first.map_or_else(String::new, |first| first.to_string()),
            again.relative.map_or_else(String::new, |relative| relative.to_string()),
            again.bytes.to_string(),
            format!("{:.6}", again.time_s),
            again.after_s.map_or_else(String::new, |after| format!("{after:.6}")),
            again.sent_before.to_string(),
        ]
    });
    let head = [
        "frame",
        "flow",
        "sent by",
        "reason",
        "spurious",
        "what",
        "number",
        "relative",
        "bytes",
        "time s",
        "after s",
        "sent before",
    ];
    table(&head, 2, 6, rows)
}

fn ends(report: &BottleneckReport) -> String {
    format!("{} > {}", report.source, report.destination)
}

/// The table of the times at which bottlenecks had nothing to send.
pub(crate) fn idle(reports: &[BottleneckReport], each: bool) -> String {
    let rows = reports.iter().map(|report| {
        let sums = &report.occupancy;
        vec![
            ends(report),
            report.interface.clone(),
            sums.packets.to_string(),
            sums.bytes.to_string(),
            format!("{:.6}", sums.total_s),
            format!("{:.6}", sums.busy_s),
            format!("{:.6}", sums.idle_s),
            sums.idle_share.map_or_else(String::new, |share| format!("{:.2}", share * 100.0)),
            sums.idle_periods.to_string(),
            format!("{:.6}", sums.idle_longest_s),
        ]
    });
    let head = [
        "direction",
        "at",
        "packets",
        "bytes",
        "total s",
        "busy s",
        "idle s",
        "idle %",
        "periods",
        "longest s",
    ];
    let mut out = table(&head, 1, 2, rows);
    if each {
        passages(reports, &mut out);
    }
    out
}

/// The table of queues at a bottleneck: lengths, delays and overflows for each direction.
pub(crate) fn buffer(reports: &[BottleneckReport], each: bool) -> String {
    let rows = reports.iter().map(|report| {
        let sums = &report.occupancy;
        vec![
            ends(report),
            report.interface.clone(),
            sums.packets.to_string(),
            format!("{:.3}", sums.queue_mean_packets),
            sums.queue_max_packets.to_string(),
            sums.queue_max_bytes.to_string(),
            format!("{:.3}", sums.delay_mean_s * 1e3),
            format!("{:.3}", sums.delay_max_s * 1e3),
            sums.overflows.to_string(),
        ]
    });
    let head = [
        "direction",
        "at",
        "packets",
        "queue mean",
        "max",
        "max bytes",
        "delay mean ms",
        "max ms",
        "found it full",
    ];
    let mut out = table(&head, 1, 2, rows);
    if each {
        passages(reports, &mut out);
    }
    out
}

fn passages(reports: &[BottleneckReport], out: &mut String) {
    for report in reports {
        let rows = report.passages.iter().map(|passage| {
            let time =
                |time: Option<f64>| time.map_or_else(|| "lost".to_owned(), |time| format!("{time:.6}"));
            vec![
                passage.number.to_string(),
                format!("{:.6}", passage.time_s),
                passage.size.to_string(),
                time(passage.start_s),
                time(passage.end_s),
                format!("{:.6}", passage.idle_s),
                passage.queue_packets.to_string(),
                passage.queue_bytes.to_string(),
            ]
        });
        let head = ["frame", "time s", "bytes", "start s", "end s", "idle s", "found packets", "found bytes"];
        let _ = write!(out, "\n{}\n{}", ends(report), table(&head, 1, 0, rows));
    }
}
