//! `anabranch decode FILE.pcapng`: the flows of SCTP and TCP in captures. `docs/how-to/decode.md` describes it.

use std::io::Write;
use std::path::{Path, PathBuf};

use anabranch_base::units;
use anabranch_trace::report::PacketLine;
use anabranch_trace::{Assumptions, Bottleneck, Capture, Direction, Filter, Protocol, Reading, Trace};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::{decoded, files, load};

/// The options of `anabranch decode`. Without any of --packets, --summary, --retransmissions, --idle, --buffer and
/// --plot: the packets.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// A capture, pcapng or pcap; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One line a packet.
    #[arg(long)]
    packets: bool,
    /// Flows: packets, bytes and what they are for, round trips, retransmissions.
    #[arg(long)]
    summary: bool,
    /// What was sent again, and why.
    #[arg(long)]
    retransmissions: bool,
    /// When a bottleneck of this rate would have had nothing to send: "60 kbit/s".
    #[arg(long, value_name = "RATE", value_parser = rate)]
    idle: Option<u64>,
    /// What would have waited in front of a bottleneck of this rate.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    buffer: Option<u64>,
    /// --idle and --buffer: one bottleneck for all packets of a way "SOURCE>DESTINATION" (addresses, or * for any), such
    /// as "10.0.1.1>*"; without it one for each pair of addresses.
    #[arg(long, value_name = "WAY")]
    direction: Option<Direction>,
    /// --idle and --buffer: the bottleneck holds so many packets, and loses what finds it full.
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// --idle and --buffer: a line for every packet.
    #[arg(long)]
    each: bool,
    /// Draw a time-sequence plot, of the flows of --flow or of the flow with most user data; - is standard output.
    #[arg(long, value_name = "OUT.svg")]
    plot: Option<PathBuf>,
    /// --plot: which way the data goes, from the client or from the server [default: the one with more].
    #[arg(long, value_enum, value_name = "WHO")]
    sender: Option<Sender>,
    /// Only these flows, by the numbers of --summary.
    #[arg(long = "flow", value_name = "N", value_delimiter = ',')]
    flows: Vec<u32>,
    /// Only this protocol.
    #[arg(long, value_enum)]
    protocol: Option<Transport>,
    /// Only what was seen at these interfaces, by name or number.
    #[arg(long = "interface", value_name = "NAME", value_delimiter = ',')]
    interfaces: Vec<String>,
    /// Only from this time on, counted from the first packet: "1.5 s".
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<i64>,
    /// Only before this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<i64>,
    /// SCTP over UDP has these ports.
    #[arg(long = "udp-port", value_name = "PORT", value_delimiter = ',', default_value = "9899")]
    udp_ports: Vec<u16>,
    /// Bytes that the link adds to each IP datagram, for everything that counts bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    link_bytes: u16,
    /// The shortest retransmission timer that the hosts have.
    #[arg(long, value_name = "TIME", default_value = "200 ms", value_parser = time)]
    min_rto: i64,
    /// Print JSON: one object with a key for each thing that was asked for.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Transport {
    /// SCTP, over UDP too.
    Sctp,
    /// TCP.
    Tcp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sender {
    /// The side that opened the flow.
    Client,
    /// The other side.
    Server,
}

fn rate(text: &str) -> Result<u64, String> {
    match units::rate(text)? {
        0 => Err("allowed: more than 0 bit/s".to_owned()),
        rate => Ok(rate),
    }
}

/// A quantity, or a plain number of seconds.
fn time(text: &str) -> Result<i64, String> {
    let quantity = match text.parse::<f64>() {
        Ok(_) => format!("{} s", text.trim()),
        Err(_) => text.to_owned(),
    };
    i64::try_from(units::time(&quantity)?.as_nanos()).map_err(|_| "allowed: up to 292 years".to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let origin = load::origin(&arguments.file);
    let wrong = |what: String| Failure::wrong(format!("{origin}: {what}"));
    if let Some(path) = &arguments.plot {
        // Checked before the work, not after it.
        drawable(path, arguments).map_err(Failure::wrong)?;
    }
    let bytes = load::bytes(&arguments.file)?;
    let capture = Capture::read(&bytes).map_err(|error| wrong(error.to_string()))?;
    let names: Vec<String> =
        capture.interfaces.iter().map(|interface| capture.interface_name(interface.index)).collect();
    for wanted in &arguments.interfaces {
        let known = names.contains(wanted) || wanted.parse::<usize>().is_ok_and(|at| at < names.len());
        if !known {
            let allowed = names.join(", ");
            return Err(wrong(format!(
                "--interface {}: no such interface; allowed: {allowed}",
                units::quote(wanted)
            )));
        }
    }
    let filter = Filter {
        flows: arguments.flows.clone(),
        protocol: arguments.protocol.map(|protocol| match protocol {
            Transport::Sctp => Protocol::Sctp,
            Transport::Tcp => Protocol::Tcp,
        }),
        interfaces: arguments.interfaces.clone(),
        from_ns: arguments.from,
        to_ns: arguments.to,
    };
    let reading =
        Reading { udp_ports: arguments.udp_ports.clone(), link_bytes: u32::from(arguments.link_bytes) };
    let assumed = Assumptions { least_timeout_ns: arguments.min_rto };
    let trace = Trace::new(capture, &reading, &filter, &assumed);
    let count = trace.flow_count();
    if let Some(none) = arguments.flows.iter().find(|&&flow| flow == 0 || flow as usize > count) {
        let allowed = match count {
            0 => "the capture has no flows of SCTP or TCP".to_owned(),
            1 => "allowed: 1".to_owned(),
            _ => format!("allowed: 1 to {count}"),
        };
        return Err(wrong(format!("--flow {none}: no such flow; {allowed}")));
    }
    for note in &trace.capture().notes {
        let _ = writeln!(std::io::stderr().lock(), "anabranch: {origin}: {note}");
    }
    let mut shown = Shown { json: arguments.json, object: Map::new(), out: String::new(), silent: false };
    ask(arguments, &trace, &filter, &wrong, &mut shown)?;
    shown.finish(&trace, &origin)
}

/// Whether the plot can be written to a file of this name.
fn drawable(path: &Path, arguments: &Arguments) -> Result<(), String> {
    if files::is_standard(path) {
        return if arguments.json || asks_for_text(arguments) || arguments.packets {
            Err("--plot -: the plot has standard output for itself; give it a file, or ask for nothing else"
                .to_owned())
        } else {
            Ok(())
        };
    }
    let capture = &arguments.file;
    let same = path.canonicalize().is_ok_and(|there| capture.canonicalize().is_ok_and(|file| file == there));
    if same {
        return Err(format!("--plot {}: that is the capture itself", path.display()));
    }
    match path.extension().map(|end| end.to_string_lossy().to_lowercase()) {
        Some(end) if end == "svg" => Ok(()),
        _ => Err(format!(
            "--plot {}: the plot is SVG and no other format; allowed: a name that ends with .svg (a browser shows it, rsvg-convert \
             and Inkscape make PNG of it)",
            path.display()
        )),
    }
}

/// Whether something besides packets and the plot is to be told.
fn asks_for_text(arguments: &Arguments) -> bool {
    arguments.summary || arguments.retransmissions || arguments.idle.is_some() || arguments.buffer.is_some()
}

/// Puts the questions of the command line.
fn ask(
    arguments: &Arguments,
    trace: &Trace<'_>,
    filter: &Filter,
    wrong: &dyn Fn(String) -> Failure,
    shown: &mut Shown,
) -> Result<(), Failure> {
    let others = asks_for_text(arguments) || arguments.plot.is_some();
    if arguments.packets || !others {
        let lines: Vec<PacketLine> = trace.lines().collect();
        shown.add("packets", json!(lines), || decoded::packets(&lines));
    }
    if arguments.summary {
        let flows = trace.flows();
        shown.add("flows", json!(flows), || decoded::flows(&flows));
    }
    if arguments.retransmissions {
        let list = trace.retransmissions();
        shown.add("retransmissions", json!(list), || decoded::retransmissions(&list));
    }
    for (key, rate) in [("idle", arguments.idle), ("buffer", arguments.buffer)] {
        let Some(rate_bps) = rate else { continue };
        let bottleneck = Bottleneck { rate_bps, limit: arguments.limit };
        let reports = trace.bottlenecks(bottleneck, arguments.direction);
        if reports.is_empty() {
            return Err(wrong(format!("--{key}: no packets in this direction")));
        }
        shown.add(key, json!(reports), || {
            if key == "idle" {
                decoded::idle(&reports, arguments.each)
            } else {
                decoded::buffer(&reports, arguments.each)
            }
        });
    }
    if let Some(path) = &arguments.plot {
        let back = arguments.sender.map(|sender| matches!(sender, Sender::Server));
        let (svg, told) = trace.plot(filter, back).map_err(|what| wrong(format!("--plot: {what}")))?;
        files::write(path, |out| out.write_all(svg.as_bytes()))?;
        if files::is_standard(path) {
            shown.silent = true;
            return Ok(());
        }
        let line = format!("{}: {told}\n", path.display());
        shown.add("plot", json!({ "file": path.display().to_string(), "shows": told }), || line);
    }
    Ok(())
}

/// The result for standard output, as text or JSON.
struct Shown {
    json: bool,
    object: Map<String, Value>,
    out: String,
    /// The plot has standard output for itself.
    silent: bool,
}

impl Shown {
    fn add(&mut self, key: &str, value: Value, text: impl FnOnce() -> String) {
        if self.json {
            self.object.insert(key.to_owned(), value);
        } else {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.out.push_str(&text());
        }
    }

    fn finish(mut self, trace: &Trace<'_>, origin: &str) -> Result<(), Failure> {
        if self.silent {
            return Ok(());
        }
        if self.json {
            let capture = trace.capture();
            let head = json!({
                "file": origin,
                "format": capture.format,
                "interfaces": capture.interfaces,
                "frames": capture.frames.len(),
                "first_ns": trace.zero_ns(),
                "not_ip": trace.skipped(),
                "notes": capture.notes,
            });
            self.object.insert("capture".to_owned(), head);
            self.out = format!("{:#}\n", Value::Object(self.object));
        } else {
            for (why, count) in trace.skipped() {
                self.out.push_str(&format!("not shown: {count} frames: {why}\n"));
            }
        }
        std::io::stdout().lock().write_all(self.out.as_bytes()).map_err(|error| Failure::printing(&error))
    }
}
