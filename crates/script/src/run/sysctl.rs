//! Shell lines: `sysctl` only, by the names of Linux (`net.sctp.`) and FreeBSD (`net.inet.sctp.`).

use anabranch_base::Duration;
use anabranch_sctp::Config;
use anabranch_sctp::config::{EcnMode, MaxBurst, MtuDiscovery};

/// Names that change the configuration.
const NAMES: &[&str] = &[
    "rto_min",
    "rto_max",
    "rto_initial",
    "ecn_enable",
    "initial_cwnd",
    "maxburst",
    "heartbeat_interval",
    "hb_interval",
    "association_max_retrans",
    "assoc_rtx_max",
    "path_max_retrans",
    "path_rtx_max",
    "max_init_retransmits",
    "init_rtx_max",
    "valid_cookie_life",
    "sack_timeout",
    "delayed_sack_time",
    "sack_freq",
    "reconfig_enable",
    "intl_enable",
    "interleaving",
    "pr_enable",
    "prsctp_enable",
    "plpmtud_enable",
    "plpmtud_max_probes",
    "plpmtud_min_probe_rtx_time",
    "plpmtud_raise_time",
];

/// Extensions that do not exist here: turning them off is no work, turning them on changes nothing that is sent.
const SWITCHES: &[&str] = &[
    "asconf_enable",
    "addip_enable",
    "auth_enable",
    "auth_disable",
    "nrsack_enable",
    "nrsack_on_off",
    "pktdrop_enable",
];

/// Runs a shell line. The error is a sentence.
pub(super) fn run(text: &str, config: &mut Config) -> Result<(), String> {
    for command in text.split(['\n', ';']).flat_map(|part| part.split("&&")) {
        let mut words =
            command.split_whitespace().filter(|word| !word.starts_with('-') && !word.starts_with('>'));
        match words.next() {
            None => continue,
            Some("sysctl") => {}
            Some(other) => return Err(format!("shell lines know `sysctl` only, found `{other}`")),
        }
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                // Asking for a value changes nothing.
                continue;
            };
            set(name, value.trim_matches('"'), config)?;
        }
    }
    Ok(())
}

fn set(name: &str, value: &str, config: &mut Config) -> Result<(), String> {
    let short = name.strip_prefix("net.inet.sctp.").or_else(|| name.strip_prefix("net.sctp."));
    let number: Option<u64> = value.parse().ok();
    let (Some(short), Some(number)) = (short, number) else {
        return Err(format!(
            "sysctl {name}={value}: expected a number for net.sctp.NAME or net.inet.sctp.NAME"
        ));
    };
    let ms = Duration::from_millis(number);
    let count = u32::try_from(number).unwrap_or(u32::MAX);
    match short {
        "rto_min" => config.timers.rto_min = ms,
        "rto_max" => config.timers.rto_max = ms,
        "rto_initial" => config.timers.rto_initial = ms,
        "ecn_enable" => {
            config.extensions.ecn = if number == 0 { EcnMode::Off } else { EcnMode::Classic };
        }
        "hb_interval" | "heartbeat_interval" => config.timers.heartbeat_interval = ms,
        // FreeBSD has seconds here, Linux milliseconds.
        "valid_cookie_life" => {
            config.timers.valid_cookie_life =
                if name.contains("inet") { Duration::from_secs(number) } else { ms };
        }
        "initial_cwnd" => {
            config.set("initial_window", value).map_err(|error| error.to_string())?;
        }
        "maxburst" => {
            let burst = u16::try_from(number).unwrap_or(u16::MAX);
            config.congestion.max_burst = if burst == 0 { MaxBurst::Off } else { MaxBurst::Clamp(burst) };
        }
        "association_max_retrans" | "assoc_rtx_max" => config.limits.association_max_retrans = count,
        "path_max_retrans" | "path_rtx_max" => config.limits.path_max_retrans = count,
        "max_init_retransmits" | "init_rtx_max" => config.limits.max_init_retransmits = count,
        "sack_timeout" | "delayed_sack_time" => config.sack.delay = ms,
        "sack_freq" => config.sack.every = u16::try_from(number).unwrap_or(u16::MAX).max(1),
        "reconfig_enable" => config.extensions.reconfiguration = number != 0,
        "pr_enable" | "prsctp_enable" => config.extensions.partial_reliability = number != 0,
        "intl_enable" | "interleaving" => config.extensions.interleaving = number != 0,
        "plpmtud_enable" => {
            config.path_mtu.discovery = if number == 0 { MtuDiscovery::Icmp } else { MtuDiscovery::Probes };
        }
        "plpmtud_max_probes" => {
            config.set("mtu_max_probes", value).map_err(|error| error.to_string())?;
        }
        "plpmtud_min_probe_rtx_time" => {
            config.set("mtu_probe_timer", &format!("{value} ms")).map_err(|error| error.to_string())?;
        }
        "plpmtud_raise_time" => config.path_mtu.raise_timer = ms,
        short if SWITCHES.contains(&short) => {}
        _ => {
            let known = NAMES.join(", ");
            let switches = SWITCHES.join(", ");
            return Err(format!(
                "unknown sysctl {name}; allowed behind net.sctp. or net.inet.sctp.: {known}; and without effect: {switches}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_systems_and_refusals_by_name() {
        let mut config = Config::rfc9260();
        run("sysctl -w net.inet.sctp.rto_min=200\nsysctl -w net.sctp.path_max_retrans=3", &mut config)
            .unwrap();
        assert_eq!(config.timers.rto_min, Duration::from_millis(200));
        assert_eq!(config.limits.path_max_retrans, 3);
        run("sysctl -w net.inet.sctp.ecn_enable=1", &mut config).unwrap();
        assert_eq!(config.extensions.ecn, EcnMode::Classic);
        assert!(
            run("sysctl net.sctp.nothing=1", &mut config)
                .unwrap_err()
                .contains("unknown sysctl net.sctp.nothing")
        );
        assert!(run("rm x", &mut config).unwrap_err().contains("`rm`"));
    }
}
