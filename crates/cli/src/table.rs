//! The summary for people: a table of flows and a table of links, means over the runs.

use anabranch_sim::{
    ClassSummary, FlowSummary, GroupSummary, LinkSummary, ShareSummary, SourceSummary, Summary,
};
use comfy_table::{CellAlignment, Table, presets};

use crate::statistics::{Mean, mean};

/// Head of a column, what it shows of one run, and with how many digits.
type Column<T> = (&'static str, fn(&T) -> Option<f64>, usize);

const FLOW: [Column<FlowSummary>; 11] = [
    ("goodput Mbit/s", |flow| Some(flow.measures.goodput_payload_bps / 1e6), 4),
    ("wire Mbit/s", |flow| Some(flow.measures.goodput_wire_bps / 1e6), 4),
    ("packets", |flow| Some(flow.measures.packets_sent as f64), 0),
    ("lost", |flow| Some(flow.packets_lost as f64), 1),
    ("again", |flow| flow.measures.retransmissions.map(|count| count as f64), 1),
    ("fast rtx", |flow| flow.measures.fast_retransmits.map(|count| count as f64), 1),
    ("timeouts", |flow| flow.measures.timeouts.map(|count| count as f64), 1),
    ("loss rate", |flow| flow.measures.loss_indication_rate, 6),
    ("srtt ms", |flow| flow.measures.srtt_mean_s.map(|srtt| srtt * 1e3), 2),
    ("cwnd peak B", |flow| flow.measures.cwnd_peak_bytes.map(|count| count as f64), 0),
    ("done s", |flow| flow.completion_s, 4),
];

const GROUP: [Column<GroupSummary>; 8] = [
    ("goodput Mbit/s", |group| Some(group.measures.goodput_payload_bps / 1e6), 4),
    ("wire Mbit/s", |group| Some(group.measures.goodput_wire_bps / 1e6), 4),
    ("fairness", |group| Some(group.jain), 4),
    ("packets", |group| Some(group.measures.packets_sent as f64), 0),
    ("lost", |group| Some(group.packets_lost as f64), 1),
    ("fast rtx", |group| group.measures.fast_retransmits.map(|count| count as f64), 1),
    ("timeouts", |group| group.measures.timeouts.map(|count| count as f64), 1),
    ("loss rate", |group| group.measures.loss_indication_rate, 6),
];

const SOURCE: [Column<SourceSummary>; 8] = [
    ("made", |source| Some(source.made as f64), 0),
    ("delivered", |source| Some(source.delivered as f64), 0),
    // Only where some were late.
    ("late", |source| late(source), 1),
    ("mean ms", |source| source.latency_mean_s.map(|s| s * 1e3), 2),
    ("50 % ms", |source| source.latency_p50_s.map(|s| s * 1e3), 2),
    ("90 % ms", |source| source.latency_p90_s.map(|s| s * 1e3), 2),
    ("99 % ms", |source| source.latency_p99_s.map(|s| s * 1e3), 2),
    ("max ms", |source| source.latency_max_s.map(|s| s * 1e3), 2),
];

fn late(source: &SourceSummary) -> Option<f64> {
    let late = source.delivered - source.in_time;
    (late > 0).then_some(late as f64)
}

const SHARE: [Column<ShareSummary>; 5] = [
    ("arrivals", |share| Some(share.arrivals as f64), 0),
    ("queue drops", |share| Some(share.drops_queue as f64), 1),
    ("lost", |share| Some(share.drops_error as f64), 1),
    ("drop rate", |share| Some(share.drop_rate), 6),
    ("share %", |share| share.share.map(|share| share * 100.0), 2),
];

const LINK: [Column<LinkSummary>; 9] = [
    ("arrivals", |link| Some(link.arrivals as f64), 0),
    ("queue drops", |link| Some(link.drops_queue as f64), 1),
    ("lost", |link| Some(link.drops_error as f64), 1),
    ("used %", |link| Some(link.utilisation * 100.0), 2),
    ("queue mean", |link| Some(link.queue_mean_packets), 2),
    ("queue max", |link| Some(link.queue_max_packets as f64), 1),
    // Only where there is any.
    ("RED average", |link| link.queue_average_packets, 2),
    ("marks", |link| (link.marks > 0).then_some(link.marks as f64), 1),
    ("policed", |link| (link.drops_policed > 0).then_some(link.drops_policed as f64), 1),
];

const CLASS: [Column<ClassSummary>; 7] = [
    ("arrivals", |class| Some(class.arrivals as f64), 0),
    ("queue drops", |class| Some(class.drops_queue as f64), 1),
    ("sent", |class| Some(class.sent as f64), 0),
    ("queue mean", |class| Some(class.queue_mean_packets), 2),
    ("queue max", |class| Some(class.queue_max_packets as f64), 1),
    ("RED average", |class| class.queue_average_packets, 2),
    ("marks", |class| (class.marks > 0).then_some(class.marks as f64), 1),
];

/// The tables, and a line that says over what they are.
pub(crate) fn render(runs: &[&Summary]) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let over = match runs.len() {
        1 => format!("1 run, seed {}", first.seed),
        many => format!("{many} runs, mean \u{b1} half width of the 95 % interval"),
    };
    let head = format!("{over}; statistics from {} s to {} s", first.warmup_s, first.duration_s);
    let flows = table(
        &["flow", "protocol", "engine"],
        &FLOW,
        first.flows.iter().map(|flow| {
            vec![flow.name.clone(), flow.protocol.clone(), flow.engine.clone().unwrap_or_default()]
        }),
        |row| runs.iter().filter_map(|run| run.flows.get(row)).collect(),
    );
    let links = table(&["link"], &LINK, first.links.iter().map(|link| vec![link.name.clone()]), |row| {
        runs.iter().filter_map(|run| run.links.get(row)).collect()
    });
    let mut text = format!("{head}\n\n{flows}\n\n{links}\n");
    if !first.sources.is_empty() {
        let names = first
            .sources
            .iter()
            .map(|source| vec![source.flow.clone(), source.source.clone(), source.stream.to_string()]);
        let sources = table(&["messages of", "source", "stream"], &SOURCE, names, |row| {
            runs.iter().filter_map(|run| run.sources.get(row)).collect()
        });
        text.push_str(&format!("\n{sources}\n"));
    }
    if !first.groups.is_empty() {
        let names = first.groups.iter().map(|group| vec![group.name.clone(), group.flows.to_string()]);
        let groups = table(&["together", "flows"], &GROUP, names, |row| {
            runs.iter().filter_map(|run| run.groups.get(row)).collect()
        });
        text.push_str(&format!("\n{groups}\n"));
    }
    for (at, link) in first.links.iter().enumerate().filter(|(_, link)| !link.classes.is_empty()) {
        let names = link.classes.iter().map(|class| vec![class.name.clone()]);
        let classes = table(&[&format!("class at link {}", link.name)], &CLASS, names, |row| {
            runs.iter().filter_map(|run| run.links.get(at)?.classes.get(row)).collect()
        });
        text.push_str(&format!("\n{classes}\n"));
    }
    for (at, link) in first.links.iter().enumerate().filter(|(_, link)| !link.flows.is_empty()) {
        let names = link.flows.iter().map(|share| vec![share.name.clone()]);
        let shares = table(&[&format!("at link {}", link.name)], &SHARE, names, |row| {
            runs.iter().filter_map(|run| run.links.get(at)?.flows.get(row)).collect()
        });
        text.push_str(&format!("\n{shares}\n"));
    }
    for run in runs {
        for flow in &run.flows {
            if let Some(why) = &flow.failed {
                text.push_str(&format!("\nseed {}: flow {} failed: {why}", run.seed, flow.name));
            }
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn table<'r, T: 'r>(
    names: &[&str],
    columns: &[Column<T>],
    rows: impl Iterator<Item = Vec<String>>,
    of_row: impl Fn(usize) -> Vec<&'r T>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let measured: Vec<(Vec<String>, Vec<Option<Mean>>)> = rows
        .enumerate()
        .map(|(row, names)| {
            let runs = of_row(row);
            (names, columns.iter().map(|column| mean(runs.iter().filter_map(|run| column.1(run)))).collect())
        })
        .collect();
    // A column in which nothing was measured is left out.
    let shown: Vec<usize> = (0..columns.len())
        .filter(|&at| measured.iter().any(|(_, cells)| cells.get(at).is_some_and(Option::is_some)))
        .collect();
    let heads = shown.iter().filter_map(|&at| columns.get(at)).map(|column| column.0);
    table.set_header(names.iter().copied().chain(heads));
    for (texts, cells) in measured {
        let cells = shown.iter().map(|&at| {
            let digits = columns.get(at).map_or(0, |column| column.2);
            cells.get(at).copied().flatten().map_or_else(String::new, |mean| show(mean, digits))
        });
        table.add_row(texts.into_iter().chain(cells));
    }
    for at in names.len()..names.len() + shown.len() {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

fn show(value: Mean, digits: usize) -> String {
    match value.half_width {
        // A single run counts whole packets.
        None if value.mean.fract() == 0.0 => format!("{:.0}", value.mean),
        None => format!("{:.digits$}", value.mean),
        Some(half) => format!("{:.digits$} \u{b1} {half:.digits$}", value.mean),
    }
}
