//! The options and sockets that all verbs on the network share.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use anabranch_base::units;
use anabranch_live::{
    Association, BindError, Config, ENCAPSULATION_PORT, Endpoint, EndpointConfig, Event, default_association,
};
use clap::Args;
use serde_json::{Map, Value, json};

pub(crate) use crate::amounts::{amount, rate};
use crate::failure::Failure;
use crate::recording::RecordingOptions;
use crate::{files, hint};

/// Local addresses, and the configuration of associations.
#[derive(Args, Debug, Clone)]
pub(crate) struct NetworkOptions {
    /// Local UDP port; 0 lets the system choose [default: 9899 to listen, 0 to connect]
    #[arg(long, value_name = "PORT")]
    udp_port: Option<u16>,
    /// Local address; may be given more than once [default: all]
    #[arg(long = "bind", value_name = "ADDRESS")]
    addresses: Vec<IpAddr>,
    /// Right on IP, without UDP: needs CAP_NET_RAW (Linux), and a host whose kernel has no SCTP
    #[arg(long, conflicts_with = "udp_port")]
    pub(crate) raw: bool,
    /// The profile that associations begin with [default: modern with probes of the path MTU, partial reliability and large buffers]
    #[arg(long, value_name = "PROFILE")]
    engine: Option<String>,
    /// Set an option of SCTP on top of it, such as rto_min="200 ms"; `anabranch engines` lists them
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::load::option)]
    overrides: Vec<(String, String)>,
    /// Streams that are asked for, and allowed to the peer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    streams: Option<u16>,
    /// Tell on standard error what happens to associations
    #[arg(long, short)]
    verbose: bool,
    /// Write all counters of each association that has ended to a file, as lines of JSON; - is standard error
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordingOptions,
    /// Adaptation code point for the handshake (RFC 5061, 4.2.6), where `--set` gives none.
    #[arg(skip)]
    adaptation: Option<u32>,
}

pub(crate) fn size(text: &str) -> Result<usize, String> {
    let bytes = units::size(text)?;
    usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "a message has a byte at least".to_owned())
}

impl NetworkOptions {
    /// A copy with this adaptation code point (Adaptation Layer Indication, RFC 5061, 4.2.6), which `--set` overrides.
    pub(crate) fn with_adaptation(&self, code_point: u32) -> Self {
        Self { adaptation: Some(code_point), ..self.clone() }
    }

    /// The initial configuration of associations.
    pub(crate) fn association_config(&self) -> Result<Config, Failure> {
        let mut config = match &self.engine {
            None => default_association(),
            Some(engine) => Config::named(engine).ok_or_else(|| {
                let (near, allowed) =
                    (hint::near(engine, Config::PROFILES.iter().copied()), Config::PROFILES.join(", "));
                Failure::wrong(format!("--engine {engine}: unknown profile{near}; allowed: {allowed}"))
            })?,
        };
        if let Some(streams) = self.streams {
            config.streams.outbound = streams;
            config.streams.inbound = config.streams.inbound.max(streams);
            config.streams.max_outbound = config.streams.max_outbound.max(streams);
        }
        config.extensions.adaptation_indication = self.adaptation;
        for (key, value) in &self.overrides {
            let value = value.trim_matches('"');
            config
                .set(key, value)
                .map_err(|error| Failure::wrong(format!("--set: {}", hint::refused(&error))))?;
        }
        config.validate().map_err(|error| Failure::wrong(format!("--set: {error}")))?;
        Ok(config)
    }

    fn endpoint_config(&self, port: u16) -> Result<EndpointConfig, Failure> {
        if let Some(path) = &self.stats {
            // Checked before the work, not after it.
            files::has_folder(path)?;
        }
        let config = EndpointConfig::on_port(port).with_association(self.association_config()?);
        let config = self.recording.configure(config);
        Ok(if self.raw { config.on_raw_ip() } else { config })
    }

    /// An endpoint that peers find at SCTP port `port`.
    pub(crate) fn listening(&self, port: u16) -> Result<Endpoint, Failure> {
        let udp = self.udp_port.unwrap_or(ENCAPSULATION_PORT);
        let config = self.endpoint_config(port)?;
        let endpoint = if self.addresses.is_empty() {
            let both = [
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), udp),
                SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), udp),
            ];
            // A host without IPv6 has IPv4 all the same.
            match Endpoint::bind(&both, config.clone()) {
                Err(BindError::Socket { address, .. }) if address.is_ipv6() => {
                    Endpoint::bind(&both[..1], config)
                }
                done => done,
            }
        } else {
            let addresses: Vec<_> = self.addresses.iter().map(|ip| SocketAddr::new(*ip, udp)).collect();
            Endpoint::bind(&addresses, config)
        };
        let endpoint = endpoint.map_err(|error| bind_failure(&error, self.raw))?;
        endpoint.listen().map_err(Failure::wrong)?;
        self.recording.show(&endpoint);
        Ok(endpoint)
    }

    /// An endpoint to begin an association with `remote`.
    pub(crate) fn connecting(&self, remote: SocketAddr, port: u16) -> Result<Endpoint, Failure> {
        let udp = self.udp_port.unwrap_or(0);
        let config = self.endpoint_config(port)?;
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let addresses: Vec<_> = match &self.addresses[..] {
            [] => vec![SocketAddr::new(any, udp)],
            some => some.iter().map(|ip| SocketAddr::new(*ip, udp)).collect(),
        };
        let endpoint = Endpoint::bind(&addresses, config).map_err(|error| bind_failure(&error, self.raw))?;
        self.recording.show(&endpoint);
        Ok(endpoint)
    }

    /// Says something on standard error, where that is wanted.
    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            let _ = writeln!(std::io::stderr().lock(), "anabranch: {}", what());
        }
    }

    /// Prints the events of an association, until it has ended.
    pub(crate) fn watch(&self, association: &Association) -> Option<tokio::task::JoinHandle<()>> {
        if !self.verbose {
            return None;
        }
        let association = association.clone();
        let name = name(&association);
        Some(tokio::spawn(async move {
            while let Some(event) = association.next_event().await {
                if matches!(event, Event::Readable { .. } | Event::Writable { .. }) {
                    continue;
                }
                let _ = writeln!(std::io::stderr().lock(), "anabranch: {name}: {event}");
            }
        }))
    }

    /// Writes the counters of an association, where they are wanted.
    pub(crate) fn write_stats(&self, association: &Association) -> Result<(), Failure> {
        let Some(path) = &self.stats else { return Ok(()) };
        let line = format!("{}\n", counters(association));
        if path.as_os_str() == "-" {
            return std::io::stderr()
                .lock()
                .write_all(line.as_bytes())
                .map_err(|error| Failure::printing(&error));
        }
        let mut file = files::append(path)?;
        file.write_all(line.as_bytes()).map_err(|error| Failure::writing(path, &error))
    }
}

fn bind_failure(error: &BindError, raw: bool) -> Failure {
    let hint = match error {
        BindError::Socket { error, .. } => match error.kind() {
            ErrorKind::AddrInUse => {
                "; another program has that UDP port: choose one with --udp-port, and tell it the other side with --peer-udp-port"
            }
            ErrorKind::PermissionDenied if raw => {
                "; packets right on IP need CAP_NET_RAW: run as root, `setcap cap_net_raw+ep` the program, or leave out --raw"
            }
            ErrorKind::PermissionDenied => {
                "; UDP ports below 1024 are for root and who has CAP_NET_BIND_SERVICE: choose one of 1024 to 65535 with --udp-port"
            }
            ErrorKind::AddrNotAvailable => "; --bind takes an address of this host: `ip address` lists them",
            _ => "",
        },
        BindError::Port { error, .. } if error.kind() == ErrorKind::AddrInUse => {
            "; another program has that SCTP port: choose another"
        }
        _ => "",
    };
    Failure::failed(format!("{error}{hint}"))
}

/// How an association is called in messages.
pub(crate) fn name(association: &Association) -> String {
    association.remote().map_or("?".to_owned(), |at| at.to_string())
}

/// All counters of an association, by name.
pub(crate) fn counters(association: &Association) -> Value {
    let Some(snapshot) = association.snapshot() else { return Value::Null };
    let all = |named: &mut dyn Iterator<Item = (&'static str, Option<u64>)>| -> Map<String, Value> {
        named.map(|(name, value)| (name.to_owned(), json!(value))).collect()
    };
    let mut line = all(&mut snapshot.stats.named());
    let paths: Vec<Value> = snapshot.paths.iter().map(|path| Value::Object(all(&mut path.named()))).collect();
    line.insert("remote".to_owned(), json!(name(association)));
    line.insert("paths".to_owned(), Value::Array(paths));
    Value::Object(line)
}

/// The peer to set up an association with.
#[derive(Args, Debug, Clone)]
pub(crate) struct Target {
    /// Host and SCTP port
    #[arg(value_name = "HOST:PORT")]
    target: String,
    /// UDP port of the peer
    #[arg(long, value_name = "PORT", default_value_t = ENCAPSULATION_PORT)]
    peer_udp_port: u16,
}

impl Target {
    /// As [`resolve`].
    pub(crate) fn resolve(&self) -> Result<(Vec<SocketAddr>, u16), Failure> {
        resolve(&self.target, self.peer_udp_port)
    }
}

/// Addresses of `HOST:PORT`, where PORT is the SCTP port; those that are given have the UDP port.
pub(crate) fn resolve(target: &str, udp: u16) -> Result<(Vec<SocketAddr>, u16), Failure> {
    let wrong = |why: &str| Failure::wrong(format!("{target}: {why}"));
    let written = target.rsplit_once(':').filter(|(host, _)| {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        !host.is_empty() && bare.map_or(!host.contains(':'), |host| host.parse::<Ipv6Addr>().is_ok())
    });
    let (host, port) =
        written.ok_or_else(|| wrong("write HOST:PORT, such as example.org:9000 or [::1]:9000"))?;
    let port: u16 =
        port.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong("an SCTP port is 1 to 65535"))?;
    let found = (target.to_socket_addrs()).map_err(|error| {
        wrong(&format!("host {host} is not known ({error}): check the name, or write an address"))
    })?;
    let found: Vec<SocketAddr> = found.map(|at| SocketAddr::new(at.ip(), udp)).collect();
    if found.is_empty() { Err(wrong("the name has no address")) } else { Ok((found, port)) }
}

/// Polls of tasks after which the runtime looks for timers and signals that are due. A driver's poll may move a megabyte, so that the 61 of
/// the default could take half a second.
const EVENT_INTERVAL: u32 = 8;

/// A runtime whose drivers go on while this thread waits for standard output.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .event_interval(EVENT_INTERVAL)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_socket_cannot_be_had_for_says_what_is_allowed() {
        let said = |kind: ErrorKind, raw: bool| {
            let error =
                BindError::Socket { address: SocketAddr::from(([127, 0, 0, 1], 80)), error: kind.into() };
            bind_failure(&error, raw).message
        };
        let low = said(ErrorKind::PermissionDenied, false);
        assert!(
            low.starts_with("127.0.0.1:80: permission denied; UDP ports below 1024 are for root"),
            "{low}"
        );
        assert!(low.ends_with("choose one of 1024 to 65535 with --udp-port"), "{low}");
        assert!(said(ErrorKind::PermissionDenied, true).contains("CAP_NET_RAW"));
        assert!(said(ErrorKind::AddrInUse, false).contains("choose one with --udp-port"));
        assert!(said(ErrorKind::AddrNotAvailable, false).contains("--bind takes an address of this host"));
    }
}
