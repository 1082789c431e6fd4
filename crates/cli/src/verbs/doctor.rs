//! `anabranch doctor`: the support of this machine for SCTP, and how to improve it.

use std::io::Write;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;

use clap::Args;
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};

use crate::failure::Failure;
use crate::terminal;

/// Lines are not longer, also where nothing limits them.
const WIDTH: usize = 80;
/// Lines are not wrapped to fewer columns: a terminal that narrow wraps them itself.
const NARROWEST: usize = 20;

/// IP protocol number of SCTP.
const SCTP: i32 = 132;

/// The options of `anabranch doctor`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
}

/// One thing that was tried.
struct Finding {
    what: &'static str,
    good: bool,
    found: String,
    /// The use of the feature, and how to get it where it is missing.
    remedy: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let findings = [udp(), ipv6(), offload(), buffers(), raw(), kernel(), tun(), namespaces()];
    let text = if arguments.json { as_json(&findings) } else { as_text(&findings) };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}

fn finding(what: &'static str, tried: Result<String, String>, remedy: &'static str) -> Finding {
    let good = tried.is_ok();
    let found = tried.unwrap_or_else(|why| why);
    Finding { what, good, found, remedy }
}

fn open(domain: Domain, kind: Type, protocol: Option<Protocol>) -> Result<Socket, String> {
    Socket::new(domain, kind, protocol).map_err(|error| error.to_string())
}

fn udp() -> Finding {
    let tried = std::net::UdpSocket::bind("0.0.0.0:9899")
        .map(|_| "UDP port 9899 is free".to_owned())
        .map_err(|error| format!("UDP port 9899: {error}"));
    finding(
        "SCTP in UDP",
        tried,
        "`listen` needs a UDP port: stop who has it, or choose another with --udp-port",
    )
}

fn ipv6() -> Finding {
    let at = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0);
    let tried = std::net::UdpSocket::bind(at).map(|_| "yes".to_owned()).map_err(|error| error.to_string());
    finding("IPv6", tried, "sysctl net.ipv6.conf.all.disable_ipv6=0")
}

fn offload() -> Finding {
    finding(
        "GSO and GRO",
        offloads(),
        "a Linux kernel since 5.0; without it each packet costs a call of the system",
    )
}

#[cfg(target_os = "linux")]
fn offloads() -> Result<String, String> {
    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::{UdpGroSegment, UdpGsoSegment};
    let socket = open(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    setsockopt(&socket, UdpGsoSegment, &1200).map_err(|error| format!("GSO: {error}"))?;
    setsockopt(&socket, UdpGroSegment, &true).map_err(|error| format!("GRO: {error}"))?;
    Ok("yes".to_owned())
}

#[cfg(not(target_os = "linux"))]
fn offloads() -> Result<String, String> {
    Err("this system has neither".to_owned())
}

fn buffers() -> Finding {
    const WANTED: usize = 4 << 20;
    let tried = open(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).and_then(|socket| {
        let _ = socket.set_recv_buffer_size(WANTED);
        let got = socket.recv_buffer_size().map_err(|error| error.to_string())?;
        if got >= WANTED { Ok(format!("{got} bytes")) } else { Err(format!("{got} bytes of {WANTED}")) }
    });
    finding(
        "receive buffer of a socket",
        tried,
        "sysctl net.core.rmem_max=4194304; less loses packets of fast senders",
    )
}

fn raw() -> Finding {
    let tried = open(Domain::IPV4, Type::RAW, Some(Protocol::from(SCTP))).map(|_| "yes".to_owned());
    finding(
        "raw sockets",
        tried,
        "run as root, or setcap cap_net_raw+ep on the program; SCTP in UDP needs none",
    )
}

fn kernel() -> Finding {
    let tried = open(Domain::IPV4, Type::STREAM, Some(Protocol::from(SCTP))).map(|_| "yes".to_owned());
    finding(
        "SCTP of the kernel",
        tried,
        "modprobe sctp, only to compare with: this program brings its own; --raw wants a kernel without (rmmod sctp)",
    )
}

fn tun() -> Finding {
    let path = Path::new("/dev/net/tun");
    let tried = std::fs::File::options().read(true).write(true).open(path);
    let tried = tried.map(|_| "yes".to_owned()).map_err(|error| format!("{}: {error}", path.display()));
    finding("TUN devices", tried, "modprobe tun, and the right to open /dev/net/tun")
}

fn namespaces() -> Finding {
    let path = "/proc/sys/user/max_net_namespaces";
    let tried = match std::fs::read_to_string(path).map(|text| text.trim().parse::<u64>()) {
        Ok(Ok(most)) if most > 0 => Ok(format!("up to {most}")),
        Ok(_) => Err("none are allowed".to_owned()),
        Err(error) => Err(format!("{path}: {error}")),
    };
    finding(
        "network namespaces",
        tried,
        "sysctl user.max_net_namespaces=1000; for networks of one's own on one machine",
    )
}

/// Writes the findings as text: a good one in a line, another with its remedy below, within the width of the terminal.
fn as_text(findings: &[Finding]) -> String {
    let width = terminal::width().unwrap_or(WIDTH).clamp(NARROWEST, WIDTH);
    let name = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.good { "ok" } else { "--" };
        let head = format!("{mark}  {:name$}  ", finding.what);
        let below = " ".repeat(if head.len() * 2 > width { 4 } else { head.len() });
        let remedy = Some(finding.remedy).filter(|_| !finding.good);
        let found = if remedy.is_some() { format!("{};", finding.found) } else { finding.found.clone() };
        let words = found.split_whitespace().chain(remedy.into_iter().flat_map(str::split_whitespace));
        let mut line = head.clone();
        for word in words {
            if line.len() + word.len() > width {
                text.push_str(line.trim_end());
                text.push('\n');
                line.clone_from(&below);
            }
            line.push_str(word);
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn as_json(findings: &[Finding]) -> String {
    let list: Vec<_> = findings
        .iter()
        .map(|finding| json!({ "what": finding.what, "ok": finding.good, "found": finding.found, "remedy": finding.remedy }))
        .collect();
    format!("{:#}\n", json!({ "findings": list }))
}
