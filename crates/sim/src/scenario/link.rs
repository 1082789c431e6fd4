//! A link: one direction, its rate, its delay, its queue and what it loses.

use anabranch_base::Duration;
use anabranch_link::pattern::Kind;
use anabranch_link::{BurstParameters, ConditionerConfig, DscpSet, LossAt, QueueConfig as Queue};

use super::error::{Problem, quote};
use super::keys::{Field, Keys};
use super::pattern::PatternUse;
use super::tree::Table;
use super::{condition, pattern, queue, units};

/// One direction between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, unique among the links. The reverse that `both = true` makes is called `NAME-back`.
    pub name: String,
    /// The node that sends into it.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// How fast bits leave it.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What waits for the link, and what is dropped instead.
    pub queue: Queue,
    /// What the link itself loses.
    pub loss: Loss,
    /// Where it loses it: before the queue, or (ns-2, and the default) when it has been sent.
    pub loss_at: LossAt,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// What happens to packets at the entry, in the order in which it happens.
    pub conditions: Vec<ConditionerConfig>,
    /// What happens to packets, position by position.
    pub patterns: Vec<PatternUse>,
}

/// How fast a link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second, at least 1.
    BitsPerSecond(u64),
    /// A packet leaves in no time; nothing ever waits.
    Infinite,
}

impl Rate {
    /// Bits per second, or `None` when infinite.
    #[must_use]
    pub const fn bits_per_second(self) -> Option<u64> {
        match self {
            Self::BitsPerSecond(bits) => Some(bits),
            Self::Infinite => None,
        }
    }
}

/// What a link loses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Loss {
    /// Nothing.
    None,
    /// Every packet on its own, with one probability.
    Bernoulli {
        /// Probability, 0 to 1.
        p: f64,
        /// Which packets can be lost; the others take no random number.
        applies: Applies,
        /// Packets with these code points; the others too take no random number.
        dscp: DscpSet,
        /// Links that name the same stream see the same sequence of losses (with common random numbers).
        stream: Option<String>,
    },
    /// Losses in bursts: the link is now good and now bad.
    GilbertElliott {
        /// Probabilities.
        parameters: BurstParameters,
        /// As for Bernoulli.
        applies: Applies,
        /// As for Bernoulli.
        dscp: DscpSet,
        /// As for Bernoulli.
        stream: Option<String>,
    },
    /// Packets with a wrong bit.
    BitErrors {
        /// Probability that a bit is wrong, 0 to 1.
        rate: f64,
        /// As for Bernoulli.
        applies: Applies,
        /// As for Bernoulli.
        dscp: DscpSet,
        /// As for Bernoulli.
        stream: Option<String>,
    },
    /// The packets at given places.
    Positions {
        /// Packet numbers from 1, rising, none twice. Counted are the packets that `applies`, `dscp` and `flow` select.
        drop: Vec<u64>,
        /// Which packets are counted.
        applies: Applies,
        /// Count only packets with these code points.
        dscp: DscpSet,
        /// Count only the packets of this flow, in the direction of the link. `None`: all.
        flow: Option<String>,
    },
}

/// Which packets a loss looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Applies {
    /// Every packet.
    #[default]
    All,
    /// Packets that carry user data: an SCTP packet with a DATA chunk, a TCP segment with payload.
    Data,
}

/// What one direction of a link says; each key once in the link and, for the reverse, perhaps again in `back`.
const SHARED: [&str; 8] = ["rate", "delay", "queue", "loss", "loss_at", "mtu", "condition", "pattern"];

/// RFC 791: every host takes datagrams of 576 bytes. RFC 2460 asks for links of 1280, but IPv4 may have less.
const SMALLEST_MTU: u64 = 576;
/// The length field of an IP packet.
const LARGEST_MTU: u64 = 65_535;
/// Of Ethernet.
const DEFAULT_MTU: u32 = 1_500;

/// A link as the file declares it.
pub(super) struct Declared<'t> {
    pub(super) link: Link,
    /// The reverse, of a link with `both = true`.
    pub(super) back: Option<Link>,
    pub(super) name: Field<'t>,
    pub(super) from: Field<'t>,
    pub(super) to: Field<'t>,
    /// `flow` of the losses, for a check that there is such a flow.
    pub(super) loss_flows: Vec<Field<'t>>,
    /// The patterns if bits are flipped, for a check that somebody looks at checksums.
    pub(super) bit_errors: Option<Field<'t>>,
}

pub(super) fn read(table: &Table) -> Result<Declared<'_>, Problem> {
    let mut allowed = vec!["name", "from", "to"];
    allowed.extend(SHARED);
    allowed.extend(["both", "back"]);
    let keys = Keys::of(table, "[[link]]", &allowed)?;
    let name = keys.required("name", "\"bottleneck\"")?;
    let from = keys.required("from", "\"r1\"")?;
    let to = keys.required("to", "\"r2\"")?;
    let mut loss_flows = Vec::new();
    keys.required("rate", "\"10 Mbit/s\"")?;
    keys.required("delay", "\"48 ms\"")?;
    let mut link = Link {
        name: name.name()?,
        from: from.name()?,
        to: to.name()?,
        rate: Rate::Infinite,
        delay: Duration::ZERO,
        queue: Queue::default(),
        loss: Loss::None,
        loss_at: LossAt::default(),
        mtu: DEFAULT_MTU,
        conditions: Vec::new(),
        patterns: Vec::new(),
    };
    if link.from == link.to {
        return Err(to.problem(format!("a link needs two nodes, and both ends are {}", quote(&link.to))));
    }
    let mut back = Link {
        name: format!("{}-back", link.name),
        from: link.to.clone(),
        to: link.from.clone(),
        ..link.clone()
    };
    direction(&keys, &mut link, &mut loss_flows)?;
    let flips = |link: &Link| link.patterns.iter().any(|used| used.pattern.kind() == Kind::BitError);
    let patterns = keys.optional("pattern");
    let both = keys.optional("both").map_or(Ok(false), |field| field.boolean())?;
    match keys.optional("back") {
        Some(field) if !both => {
            return Err(field.problem("there is a reverse only with both = true"));
        }
        _ if !both => {
            let bit_errors = patterns.filter(|_| flips(&link));
            return Ok(Declared { link, back: None, name, from, to, loss_flows, bit_errors });
        }
        over => {
            direction(&keys, &mut back, &mut Vec::new())?;
            // The reverse loses like the link, but not the same packets.
            if let Loss::Bernoulli { stream: Some(stream), .. }
            | Loss::GilbertElliott { stream: Some(stream), .. }
            | Loss::BitErrors { stream: Some(stream), .. } = &mut back.loss
            {
                stream.push_str("-back");
            }
            if let Some(field) = over {
                let table = field.table("a table such as { rate = \"1 Mbit/s\" }")?;
                direction(&Keys::of(table, "back", &SHARED)?, &mut back, &mut loss_flows)?;
            }
        }
    }
    let bit_errors = if flips(&back) { keys.optional("back").or(patterns) } else { None };
    let bit_errors = patterns.filter(|_| flips(&link)).or(bit_errors);
    Ok(Declared { link, back: Some(back), name, from, to, loss_flows, bit_errors })
}

/// Reads the keys of one direction that are there.
fn direction<'t>(keys: &Keys<'t>, link: &mut Link, loss_flows: &mut Vec<Field<'t>>) -> Result<(), Problem> {
    if let Some(field) = keys.optional("rate") {
        link.rate = field.quantity("\"10 Mbit/s\"", units::rate)?;
    }
    if let Some(field) = keys.optional("delay") {
        link.delay = field.quantity("\"48 ms\"", units::time)?;
    }
    if let Some(field) = keys.optional("queue") {
        link.queue = queue::read(&field)?;
    }
    if let Some(field) = keys.optional("loss") {
        link.loss = loss(&field, loss_flows)?;
    }
    if let Some(field) = keys.optional("loss_at") {
        link.loss_at = field.choice("place", &[("exit", LossAt::Exit), ("entry", LossAt::Entry)])?;
    }
    if let Some(field) = keys.optional("condition") {
        link.conditions = condition::read(&field)?;
    }
    if let Some(field) = keys.optional("pattern") {
        link.patterns = pattern::read(&field, loss_flows)?;
    }
    if let Some(field) = keys.optional("mtu") {
        let mtu = field.quantity("\"1500 B\"", units::size)?;
        if !(SMALLEST_MTU..=LARGEST_MTU).contains(&mtu) {
            return Err(field
                .problem(format!("{mtu} B is out of range; allowed: {SMALLEST_MTU} B to {LARGEST_MTU} B")));
        }
        link.mtu = u32::try_from(mtu).unwrap_or(DEFAULT_MTU);
    }
    Ok(())
}

fn loss<'t>(field: &Field<'t>, flows: &mut Vec<Field<'t>>) -> Result<Loss, Problem> {
    const KINDS: [&str; 5] = ["none", "bernoulli", "gilbert-elliott", "bit-errors", "positions"];
    let table = field.table("a table such as { kind = \"bernoulli\", p = 1e-4 }")?;
    let stream = |keys: &Keys<'_>| keys.optional("stream").map(|field| field.name()).transpose();
    match Keys::kind(table, "loss", "\"bernoulli\"", &KINDS)? {
        "bernoulli" => {
            let keys =
                Keys::of(table, "a loss of kind \"bernoulli\"", &["kind", "p", "applies", "dscp", "stream"])?;
            Ok(Loss::Bernoulli {
                p: keys.required("p", "1e-4")?.probability()?,
                applies: applies(&keys)?,
                dscp: queue::dscps(&keys)?,
                stream: stream(&keys)?,
            })
        }
        "gilbert-elliott" => {
            let own = ["kind", "p", "r", "good", "bad", "applies", "dscp", "stream"];
            let keys = Keys::of(table, "a loss of kind \"gilbert-elliott\"", &own)?;
            let or = |key, usual| keys.optional(key).map_or(Ok(usual), |field| field.probability());
            Ok(Loss::GilbertElliott {
                parameters: BurstParameters {
                    to_bad: keys.required("p", "0.001")?.probability()?,
                    to_good: keys.required("r", "0.2")?.probability()?,
                    good: or("good", 0.0)?,
                    bad: or("bad", 1.0)?,
                },
                applies: applies(&keys)?,
                dscp: queue::dscps(&keys)?,
                stream: stream(&keys)?,
            })
        }
        "bit-errors" => {
            let own = ["kind", "ber", "applies", "dscp", "stream"];
            let keys = Keys::of(table, "a loss of kind \"bit-errors\"", &own)?;
            Ok(Loss::BitErrors {
                rate: keys.required("ber", "1e-6")?.probability()?,
                applies: applies(&keys)?,
                dscp: queue::dscps(&keys)?,
                stream: stream(&keys)?,
            })
        }
        "positions" => {
            let own = ["kind", "drop", "applies", "dscp", "flow"];
            let keys = Keys::of(table, "a loss of kind \"positions\"", &own)?;
            let list = keys.required("drop", "[3, 17]")?;
            let mut drop = Vec::new();
            for item in list.items("a list of packet numbers such as [3, 17]")? {
                let number = item.integer(1, i64::MAX.unsigned_abs())?;
                if drop.last().is_some_and(|&last| last >= number) {
                    return Err(item.problem(format!("{number} is out of order; packet numbers rise")));
                }
                drop.push(number);
            }
            let flow = keys.optional("flow");
            flows.extend(flow);
            Ok(Loss::Positions {
                drop,
                applies: applies(&keys)?,
                dscp: queue::dscps(&keys)?,
                flow: flow.map(|field| field.name()).transpose()?,
            })
        }
        _ => Keys::of(table, "a loss of kind \"none\"", &["kind"]).map(|_| Loss::None),
    }
}

pub(super) fn applies(keys: &Keys<'_>) -> Result<Applies, Problem> {
    match keys.optional("applies") {
        None => Ok(Applies::All),
        Some(field) => field.choice("kind of packets", &[("all", Applies::All), ("data", Applies::Data)]),
    }
}
