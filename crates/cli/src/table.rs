//! The summary for people: a table of flows and a table of links, means over the runs.

use anabranch_sim::{
    ClassSummary, FlowSummary, GroupSummary, LinkSummary, Measures, Note, ShareSummary, SourceSummary,
    Summary,
};
use comfy_table::CellAlignment;

use crate::statistics::{Mean, mean};
use crate::{fitting, results, terminal};

/// Head of a column, its value for one run, and its number of digits.
type Column<T> = (&'static str, fn(&T) -> Option<f64>, usize);

fn plus_minus() -> &'static str {
    terminal::sign("\u{b1}", "+/-")
}

/// A flow, or one of its subflows.
struct FlowRow<'r> {
    measures: &'r Measures,
    /// The summary of the flow; `None` for a subflow.
    flow: Option<&'r FlowSummary>,
}

const fn flow_columns<'r>() -> [Column<FlowRow<'r>>; 12] {
    [
        ("goodput Mbit/s", |row| Some(row.measures.goodput_payload_bps / 1e6), 4),
        // Only where the flow was not active all the time.
        ("in the whole run", |row| whole_run(row.measures).map(|rate| rate / 1e6), 4),
        ("wire Mbit/s", |row| Some(row.measures.goodput_wire_bps / 1e6), 4),
        ("packets", |row| Some(row.measures.packets_sent as f64), 0),
        ("lost", |row| row.flow.map(|flow| flow.packets_lost as f64), 1),
        ("again", |row| row.measures.retransmissions.map(|count| count as f64), 1),
        ("fast rtx", |row| row.measures.fast_retransmits.map(|count| count as f64), 1),
        ("timeouts", |row| row.measures.timeouts.map(|count| count as f64), 1),
        ("loss rate", |row| row.measures.loss_indication_rate, 6),
        ("srtt ms", |row| row.measures.srtt_mean_s.map(|srtt| srtt * 1e3), 2),
        ("cwnd peak B", |row| row.measures.cwnd_peak_bytes.map(|count| count as f64), 0),
        ("done s", |row| row.flow?.completion_s, 4),
    ]
}

/// Goodput over the whole window of statistics, where it differs by a hundredth or more.
fn whole_run(measures: &Measures) -> Option<f64> {
    let (active, run) = (measures.goodput_payload_bps, measures.goodput_payload_run_bps);
    ((active - run).abs() >= active.max(run) * 0.01 && active > 0.0).then_some(run)
}

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

/// The tables, behind a line that names the runs; none wider than `width` characters if that is possible.
pub(crate) fn render(runs: &[&Summary], width: Option<usize>) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let over = match runs.len() {
        1 => format!("1 run, seed {}", first.seed),
        many => format!("{many} runs, mean {} half width of the 95 % interval", plus_minus()),
    };
    let mut parts = vec![format!("{over}; statistics from {} s to {} s", first.warmup_s, first.duration_s)];
    parts.extend(flows(runs, first, width));
    let links = first.links.iter().enumerate().map(|(at, link)| Line {
        names: vec![link.name.clone()],
        runs: runs.iter().filter_map(|run| run.links.get(at)).collect(),
        tail: String::new(),
    });
    parts.extend(tables(&["link"], &LINK, "", &links.collect::<Vec<_>>(), width));
    let sources = first.sources.iter().enumerate().map(|(at, source)| Line {
        names: vec![source.flow.clone(), source.source.clone(), source.stream.to_string()],
        runs: runs.iter().filter_map(|run| run.sources.get(at)).collect(),
        tail: String::new(),
    });
    parts.extend(tables(
        &["messages of", "source", "stream"],
        &SOURCE,
        "",
        &sources.collect::<Vec<_>>(),
        width,
    ));
    let groups = first.groups.iter().enumerate().map(|(at, group)| Line {
        names: vec![group.name.clone(), group.flows.to_string()],
        runs: runs.iter().filter_map(|run| run.groups.get(at)).collect(),
        tail: String::new(),
    });
    parts.extend(tables(&["together", "flows"], &GROUP, "", &groups.collect::<Vec<_>>(), width));
    for (at, link) in first.links.iter().enumerate() {
        let classes = link.classes.iter().enumerate().map(|(row, class)| Line {
            names: vec![class.name.clone()],
            runs: runs.iter().filter_map(|run| run.links.get(at)?.classes.get(row)).collect(),
            tail: String::new(),
        });
        let head = format!("class at link {}", link.name);
        parts.extend(tables(&[&head], &CLASS, "", &classes.collect::<Vec<_>>(), width));
    }
    for (at, link) in first.links.iter().enumerate() {
        let shares = link.flows.iter().enumerate().map(|(row, share)| Line {
            names: vec![share.name.clone()],
            runs: runs.iter().filter_map(|run| run.links.get(at)?.flows.get(row)).collect(),
            tail: String::new(),
        });
        let head = format!("at link {}", link.name);
        parts.extend(tables(&[&head], &SHARE, "", &shares.collect::<Vec<_>>(), width));
    }
    let failed: Vec<String> = runs
        .iter()
        .flat_map(|run| run.flows.iter().map(move |flow| (run, flow)))
        .filter_map(|(run, flow)| {
            let why = flow.failed.as_ref()?;
            Some(format!("seed {}: flow {} failed: {why}", run.seed, flow.name))
        })
        .collect();
    if !failed.is_empty() {
        parts.push(failed.join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// Flows, those with several subflows with a row for each of these.
fn flows(runs: &[&Summary], first: &Summary, width: Option<usize>) -> Vec<String> {
    // The lines below borrow from these rows.
    let mut rows: Vec<(Vec<String>, Vec<FlowRow<'_>>, String)> = Vec::new();
    for (at, flow) in first.flows.iter().enumerate() {
        let of_runs: Vec<&FlowSummary> = runs.iter().filter_map(|run| run.flows.get(at)).collect();
        let names = vec![flow.name.clone(), flow.protocol.clone(), flow.engine.clone().unwrap_or_default()];
        let measured = of_runs.iter().map(|flow| FlowRow { measures: &flow.measures, flow: Some(flow) });
        rows.push((names, measured.collect(), notes(&of_runs)));
        if flow.subflows.len() > 1 {
            for (index, subflow) in flow.subflows.iter().enumerate() {
                let names = vec![
                    format!("{} subflow {}", flow.name, subflow.index),
                    String::new(),
                    format!("DSCP {}", subflow.dscp),
                ];
                let measured = of_runs.iter().filter_map(|flow| flow.subflows.get(index));
                let measured = measured.map(|subflow| FlowRow { measures: &subflow.measures, flow: None });
                rows.push((names, measured.collect(), String::new()));
            }
        }
    }
    let lines: Vec<Line<'_, FlowRow<'_>>> = rows
        .iter()
        .map(|(names, measured, notes)| Line {
            names: names.clone(),
            runs: measured.iter().collect(),
            tail: notes.clone(),
        })
        .collect();
    tables(&["flow", "protocol", "engine"], &flow_columns(), "notes", &lines, width)
}

/// Remarks that a reader needs before the figures of a flow, each with the number of its runs.
fn notes(runs: &[&FlowSummary]) -> String {
    let mut counted: Vec<(Note, usize)> = Vec::new();
    for note in runs.iter().flat_map(|flow| &flow.notes) {
        match counted.iter_mut().find(|(known, _)| known == note) {
            Some((_, count)) => *count += 1,
            None => counted.push((*note, 1)),
        }
    }
    let words = counted.into_iter().map(|(note, count)| match count {
        all if all == runs.len() => note.words().to_owned(),
        some => format!("{} ({some} of {})", note.words(), runs.len()),
    });
    let same = results::same_for_every_seed(runs).then(|| "same for every seed".to_owned());
    words.chain(same).collect::<Vec<_>>().join(", ")
}

/// A row: its names, its figures of each run, and words behind them.
struct Line<'r, T> {
    names: Vec<String>,
    runs: Vec<&'r T>,
    tail: String,
}

/// A table, or several below each other where one would be too wide: each begins with the names.
fn tables<T>(
    names: &[&str],
    columns: &[Column<T>],
    tail: &str,
    lines: &[Line<'_, T>],
    width: Option<usize>,
) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let cell = |line: &Line<'_, T>, column: &Column<T>| {
        let mean = mean(line.runs.iter().filter_map(|run| column.1(run)));
        mean.map_or_else(String::new, |mean| show(mean, column.2))
    };
    let mut cells: Vec<fitting::Column> = columns
        .iter()
        .map(|column| {
            let of_lines = lines.iter().map(|line| cell(line, column)).collect();
            fitting::Column::new(column.0, of_lines, CellAlignment::Right)
        })
        .collect();
    let tails = lines.iter().map(|line| line.tail.clone()).collect();
    cells.push(fitting::Column::new(tail, tails, CellAlignment::Left));
    // A column in which nothing was measured is left out.
    cells.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    let named: Vec<fitting::Column> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let of_lines = lines.iter().map(|line| line.names.get(at).cloned().unwrap_or_default());
            fitting::Column::new(*name, of_lines.collect(), CellAlignment::Left)
        })
        .collect();
    fitting::fit(&named, &cells, width)
}

fn show(value: Mean, digits: usize) -> String {
    match value.half_width {
        // A single run counts whole packets.
        None if value.mean.fract() == 0.0 => format!("{:.0}", value.mean),
        None => format!("{:.digits$}", value.mean),
        Some(half) => format!("{:.digits$} {} {half:.digits$}", value.mean, plus_minus()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_goes_on_below() {
        let columns: [Column<f64>; 3] =
            [("first", |v| Some(*v), 2), ("second", |v| Some(v * 10.0), 2), ("none", |_| None, 0)];
        let lines = [
            Line { names: vec!["a".into()], runs: vec![&1.25], tail: "not finished".into() },
            Line { names: vec!["b".into()], runs: vec![&2.25, &2.75], tail: String::new() },
        ];
        let one = tables(&["flow"], &columns, "notes", &lines, None);
        let [whole] = one.as_slice() else { panic!("{one:?}") };
        assert!(whole.starts_with("| flow |       first |        second | notes "), "{whole}");
        assert!(!whole.contains("none"), "{whole}");
        for width in 30..70 {
            let some = tables(&["flow"], &columns, "notes", &lines, Some(width));
            assert!(some.iter().all(|table| table.starts_with("| flow | ")));
            assert!(
                some.iter().flat_map(|table| table.lines()).all(|line| line.chars().count() <= width),
                "{width}"
            );
            assert!(some.concat().contains("not finished") && some.concat().contains("25.00"));
        }
        // Narrower than any column: one at a time.
        assert_eq!(tables(&["flow"], &columns, "notes", &lines, Some(4)).len(), 3);
    }
}
