//! Options of a run: those of its caller, and the lines of a script that begin with `--`.

use anabranch_base::Duration;
use anabranch_sctp::Config;

use crate::error::ScriptError;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How far a packet or the end of a call may be from its time. `None`: the value in the script (`--tolerance_usecs`), or 0.
    pub tolerance: Option<Duration>,
    /// Whether packets that no line has taken at the end are a failure.
    pub strict: bool,
    /// Symbols for `#ifdef`.
    pub defined: Vec<String>,
    /// The initial configuration of sockets.
    pub config: Config,
    /// Whether the two sides talk over IPv6 (`--ip_version=ipv6` in a script).
    pub ipv6: bool,
    /// Decides tags, TSNs and jitter.
    pub seed: u64,
}

impl Options {
    /// The initial configuration of a script's sockets, for a stack that is to have `config`.
    #[must_use]
    pub fn sockets(config: Config) -> Config {
        config.with(|c| {
            // A socket has addresses of one family only, and says so.
            c.extensions.address_types = true;
            // Other authors' scripts expect an INIT ACK to list all extensions that its sender has.
            c.emulation.lists_all_extensions = true;
            // "SCTP_NODELAY": "Turn on/off any Nagle-like algorithm" (RFC 6458, 8.1.5); it is on until a script says otherwise.
            c.congestion.nagle = true;
            // Other authors' scripts expect the first probe of a closed window at once, as the kernels send it after RFC 4960. That it
            // "SHOULD" come after an RTO (RFC 9260, 6.1 A) is tested by scripts that set this back.
            c.emulation.probes_at_once = true;
        })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tolerance: Some(Duration::ZERO),
            strict: false,
            defined: Vec::new(),
            config: Self::sockets(Config::rfc9260()),
            ipv6: false,
            seed: 1,
        }
    }
}

/// Options of the other tool that mean nothing in virtual time.
const WITHOUT_MEANING: &[&str] = &[
    "speed",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "wire_protocol",
    "verbose",
    "debug",
    "non_fatal",
    "send_omit_free",
];

/// The systems whose names the other tool defines where it runs.
const SYSTEMS: &[&str] = &["FreeBSD", "Linux", "NetBSD", "OpenBSD", "SunOS"];

/// Some scripts have different packets for each of two systems. Unless a system is named it is FreeBSD, whose stack
/// follows the RFC in most such places.
pub(super) fn define_a_system(defined: &mut Vec<String>) {
    if !defined.iter().any(|name| SYSTEMS.contains(&name.as_str())) {
        defined.push("FreeBSD".to_owned());
    }
}

/// Applies the `--` lines of a script.
pub(super) fn apply(lines: &[(usize, String, String)], options: &mut Options) -> Result<(), ScriptError> {
    let mut told = Duration::ZERO;
    for (line, name, value) in lines {
        let wrong = |expected: &str| {
            ScriptError::new(*line, format!("--{name}: `{value}` is not allowed; expected {expected}"))
        };
        match name.as_str() {
            "tolerance_usecs" => {
                told = Duration::from_micros(value.parse().map_err(|_| wrong("a number of microseconds"))?);
            }
            "ip_version" if value == "ipv4" => options.ipv6 = false,
            "ip_version" if value == "ipv6" => options.ipv6 = true,
            "ip_version" => return Err(wrong("ipv4 or ipv6")),
            "mtu" => options.config.set("mtu", value).map_err(|_| wrong("576 to 65535"))?,
            "strict" => options.strict = true,
            "set" => {
                let (key, value) = value.split_once('=').ok_or_else(|| wrong("KEY=VALUE"))?;
                let value = value.trim().trim_matches('"');
                let done = options.config.set(key.trim(), value);
                done.map_err(|error| ScriptError::new(*line, error.to_string()))?;
            }
            name if WITHOUT_MEANING.contains(&name) => {}
            name => {
                let ignored = WITHOUT_MEANING.join(", ");
                return Err(ScriptError::new(
                    *line,
                    format!(
                        "unknown option --{name}; allowed: tolerance_usecs, ip_version, mtu, strict, set; and without \
                         effect: {ignored}"
                    ),
                ));
            }
        }
    }
    options.tolerance = Some(options.tolerance.unwrap_or(told));
    Ok(())
}
