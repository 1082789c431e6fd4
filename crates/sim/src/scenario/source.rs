//! Traffic that no transport regulates: packets at a rate, always or in bursts, even if they are lost.

use anabranch_base::{Duration, Rng};

use super::error::Problem;
use super::keys::{Field, Keys};
use super::protocol::Protocol;
use super::rate::Rate;
use super::units;

/// A source of packets that are not acknowledged and whose rate does not depend on the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketSource {
    /// Bits per second while it sends, IP headers included.
    pub rate: u64,
    /// Size of a packet in bytes, IP header included.
    pub packet: u32,
    /// How much the gaps between packets vary, as a share of the gap: each is uniform between `1 - jitter / 2` and
    /// `1 + jitter / 2` of it. 0: not at all, and no random numbers.
    pub jitter: f64,
    /// The times at which it sends.
    pub rhythm: Rhythm,
}

/// The times at which a source sends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rhythm {
    /// Always.
    Steady,
    /// `on`, then silence for `off`, and so on.
    Square {
        /// Length of the times at which it sends.
        on: Duration,
        /// Length of the times of silence.
        off: Duration,
        /// How much of the period is over when the flow starts; less than `on + off`.
        phase: Duration,
    },
    /// Silence, then a burst, and so on, each drawn anew.
    OnOff {
        /// The distribution of both times.
        distribution: Distribution,
        /// Mean length of a burst.
        on: Duration,
        /// Mean length of a silence.
        off: Duration,
    },
}

/// A distribution of times with a given mean.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Exponential.
    Exponential,
    /// Pareto: `P(X > x) = (scale / x)^shape`, with the scale that gives the mean.
    Pareto {
        /// Above 1: else there is no mean. Up to 2 there is no variance.
        shape: f64,
    },
}

impl Distribution {
    /// One draw.
    pub fn draw(self, mean: f64, rng: &mut Rng) -> f64 {
        match self {
            Self::Exponential => rng.exponential(mean),
            Self::Pareto { shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * (1.0 - rng.f64()).powf(-1.0 / shape)
            }
        }
    }
}

impl PacketSource {
    /// The protocols that have no transport, and the keys of their `traffic`.
    pub const PROTOCOLS: [(&str, &[&str]); 3] = [
        ("cbr", &["rate", "packet", "jitter"]),
        ("square", &["rate", "packet", "jitter", "on", "off", "phase"]),
        ("on-off", &["rate", "packet", "jitter", "on", "off", "distribution", "shape"]),
    ];

    /// Time between two packets, nanoseconds.
    #[must_use]
    pub fn gap_ns(&self) -> f64 {
        f64::from(self.packet) * 8e9 / self.rate.max(1) as f64
    }
}

/// Headers of IPv4 and UDP together, bytes: no packet is smaller.
const SMALLEST_PACKET: u64 = 28;
/// The length field of an IP packet.
const LARGEST_PACKET: u64 = 65_535;
const EXAMPLE: &str = "{ rate = \"5 Mbit/s\", packet = \"1000 B\" }";

/// Reads `traffic` of a flow of one of the protocols `cbr`, `square` and `on-off`.
pub(super) fn read(field: &Field<'_>, protocol: Protocol) -> Result<PacketSource, Problem> {
    let table = field.table(&format!("a table such as {EXAMPLE}"))?;
    let what = match protocol {
        Protocol::Square => "traffic of protocol \"square\"",
        Protocol::OnOff => "traffic of protocol \"on-off\"",
        _ => "traffic of protocol \"cbr\"",
    };
    let allowed = PacketSource::PROTOCOLS.iter().find(|(name, _)| *name == protocol.name());
    let keys = Keys::of(table, what, allowed.map_or(&[], |(_, keys)| keys))?;
    let rate_field = keys.required("rate", "\"5 Mbit/s\"")?;
    let Rate::BitsPerSecond(rate) = rate_field.quantity("\"5 Mbit/s\"", units::rate)? else {
        return Err(rate_field.problem("a source needs a finite rate"));
    };
    let packet_field = keys.required("packet", "\"1000 B\"")?;
    let packet = packet_field.quantity("\"1000 B\"", units::size)?;
    if !(SMALLEST_PACKET..=LARGEST_PACKET).contains(&packet) {
        return Err(packet_field.problem(format!(
            "{packet} B is out of range; allowed: {SMALLEST_PACKET} B to {LARGEST_PACKET} B"
        )));
    }
    let rhythm = match protocol {
        Protocol::Square => square(&keys)?,
        Protocol::OnOff => on_off(&keys)?,
        _ => Rhythm::Steady,
    };
    let source = PacketSource {
        rate,
        packet: u32::try_from(packet).unwrap_or(u32::MAX),
        jitter: keys.optional("jitter").map_or(Ok(0.0), |field| field.probability())?,
        rhythm,
    };
    if source.gap_ns() < 1.0 {
        return Err(rate_field.problem("packets would follow each other in less than a nanosecond"));
    }
    Ok(source)
}

fn square(keys: &Keys<'_>) -> Result<Rhythm, Problem> {
    let (on, off) = (burst(keys)?, silence(keys)?);
    let phase = match keys.optional("phase") {
        None => Duration::ZERO,
        Some(field) => {
            let phase = field.quantity("\"2 s\"", units::time)?;
            if phase >= on + off {
                return Err(field.problem("a phase is shorter than on + off"));
            }
            phase
        }
    };
    Ok(Rhythm::Square { on, off, phase })
}

fn on_off(keys: &Keys<'_>) -> Result<Rhythm, Problem> {
    let is_pareto = keys
        .required("distribution", "\"exponential\"")?
        .choice("distribution", &[("exponential", false), ("pareto", true)])?;
    let distribution = match keys.optional("shape") {
        Some(field) if !is_pareto => {
            return Err(field.problem("an exponential distribution has no shape; leave it out"));
        }
        Some(field) => Distribution::Pareto { shape: field.number_above(1.0)? },
        // ns-2's default.
        None if is_pareto => Distribution::Pareto { shape: 1.5 },
        None => Distribution::Exponential,
    };
    Ok(Rhythm::OnOff { distribution, on: burst(keys)?, off: silence(keys)? })
}

fn burst(keys: &Keys<'_>) -> Result<Duration, Problem> {
    let field = keys.required("on", "\"5 s\"")?;
    match field.quantity("\"5 s\"", units::time)? {
        Duration::ZERO => Err(field.problem("it must be longer than 0 s")),
        on => Ok(on),
    }
}

fn silence(keys: &Keys<'_>) -> Result<Duration, Problem> {
    keys.required("off", "\"5 s\"")?.quantity("\"5 s\"", units::time)
}
