//! A link: one direction, its rate, its delay, its queue and its losses.

use anabranch_base::Duration;
use anabranch_link::pattern::Kind;
use anabranch_link::{ConditionerConfig, LossAt, QueueConfig as Queue};

use super::error::{Problem, quote};
use super::keys::{Field, Keys};
use super::loss::{self, Loss};
use super::pattern::{self, PatternUse};
use super::rate::Rate;
use super::tree::Table;
use super::{condition, queue, units};

/// One direction between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, unique among the links. The reverse that `both = true` makes is called `NAME-back`.
    pub name: String,
    /// The node that sends into it, by its place in `hosts`.
    pub from: usize,
    /// The node that it leads to, by its place in `hosts`.
    pub to: usize,
    /// Rate at which bits leave the transmitter.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// The queue in front of the link: it holds waiting packets and decides which to drop.
    pub queue: Queue,
    /// Random loss on the link itself, beside the queue's drops.
    pub loss: Loss,
    /// The place of the loss: before the queue, or (ns-2, and the default) when it has been sent.
    pub loss_at: LossAt,
    /// Largest IP packet in bytes, at the start.
    pub mtu: u32,
    /// The treatment of larger packets.
    pub mtu_answer: MtuAnswer,
    /// Later values of the MTU with their times after the start, in order.
    pub mtu_changes: Vec<(Duration, u32)>,
    /// Traffic conditioners at the entry, in the order in which they act.
    pub conditions: Vec<ConditionerConfig>,
    /// Patterns that change the packets' fate, position by position.
    pub patterns: Vec<PatternUse>,
}

/// A link's treatment of packets that are larger than its MTU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MtuAnswer {
    /// No packet is larger: the ends know the MTU.
    #[default]
    Known,
    /// The link drops packets that must not be fragmented and says so (ICMP); others it fragments.
    Icmp,
    /// The link drops packets that must not be fragmented and says nothing; others it fragments.
    Silent,
}

/// Keys for one direction of a link; each once in the link and, for the reverse, perhaps again in `back`.
const SHARED: [&str; 10] =
    ["rate", "delay", "queue", "loss", "loss_at", "mtu", "mtu_answer", "mtu_changes", "condition", "pattern"];

/// RFC 791: every host takes datagrams of 576 bytes. RFC 2460 asks for links of 1280, but IPv4 may have less.
const SMALLEST_MTU: u64 = 576;
/// The length field of an IP packet.
const LARGEST_MTU: u64 = 65_535;
/// MTU of Ethernet, bytes.
const DEFAULT_MTU: u32 = 1_500;

/// A link as the file declares it.
pub(super) struct Declared<'t> {
    /// Its nodes, and the flows that it names, have no numbers yet.
    pub(super) link: Link,
    /// The reverse, of a link with `both = true`.
    pub(super) back: Option<Link>,
    /// The names of its nodes.
    pub(super) nodes: [&'t str; 2],
    pub(super) name: Field<'t>,
    pub(super) from: Field<'t>,
    pub(super) to: Field<'t>,
    /// Flows that the link names.
    pub(super) flows: NamedFlows<'t>,
    /// Flows that the reverse names.
    pub(super) back_flows: NamedFlows<'t>,
    /// The patterns if bits are flipped, for a check that checksums are verified.
    pub(super) bit_errors: Option<Field<'t>>,
}

/// The flows that one direction of a link names.
#[derive(Default)]
pub(super) struct NamedFlows<'t> {
    /// `flow` of the loss.
    loss: Option<Field<'t>>,
    /// `flow` of each pattern.
    patterns: Vec<Option<Field<'t>>>,
}

impl NamedFlows<'_> {
    /// Writes the numbers of the flows into the link; `number` finds them.
    pub(super) fn resolve(
        &self,
        link: &mut Link,
        number: impl Fn(&Field<'_>) -> Result<usize, Problem>,
    ) -> Result<(), Problem> {
        if let (Loss::Positions { flow, .. }, Some(field)) = (&mut link.loss, &self.loss) {
            *flow = Some(number(field)?);
        }
        for (used, field) in link.patterns.iter_mut().zip(&self.patterns) {
            used.flow = field.as_ref().map(&number).transpose()?;
        }
        Ok(())
    }
}

pub(super) fn read(table: &Table) -> Result<Declared<'_>, Problem> {
    let mut allowed = vec!["name", "from", "to"];
    allowed.extend(SHARED);
    allowed.extend(["both", "back"]);
    let keys = Keys::of(table, "[[link]]", &allowed)?;
    let name = keys.required("name", "\"bottleneck\"")?;
    let from = keys.required("from", "\"r1\"")?;
    let to = keys.required("to", "\"r2\"")?;
    let (mut flows, mut back_flows) = (NamedFlows::default(), NamedFlows::default());
    keys.required("rate", "\"10 Mbit/s\"")?;
    keys.required("delay", "\"48 ms\"")?;
    let own_name = name.name()?;
    from.name()?;
    to.name()?;
    let nodes = [from.text()?, to.text()?];
    let mut link = Link {
        name: own_name,
        from: 0,
        to: 0,
        rate: Rate::Infinite,
        delay: Duration::ZERO,
        queue: Queue::default(),
        loss: Loss::None,
        loss_at: LossAt::default(),
        mtu: DEFAULT_MTU,
        mtu_answer: MtuAnswer::Known,
        mtu_changes: Vec::new(),
        conditions: Vec::new(),
        patterns: Vec::new(),
    };
    if nodes[0] == nodes[1] {
        return Err(to.problem(format!("a link needs two nodes, and both ends are {}", quote(nodes[1]))));
    }
    let mut back = Link { name: format!("{}-back", link.name), ..link.clone() };
    direction(&keys, &mut link, &mut flows)?;
    let flips = |link: &Link| link.patterns.iter().any(|used| used.pattern.kind() == Kind::BitError);
    let patterns = keys.optional("pattern");
    let both = keys.optional("both").map_or(Ok(false), |field| field.boolean())?;
    match keys.optional("back") {
        Some(field) if !both => {
            return Err(field.problem("there is a reverse only with both = true"));
        }
        _ if !both => {
            let bit_errors = patterns.filter(|_| flips(&link));
            return Ok(Declared { link, back: None, nodes, name, from, to, flows, back_flows, bit_errors });
        }
        over => {
            direction(&keys, &mut back, &mut back_flows)?;
            // The reverse loses like the link, but not the same packets.
            if let Loss::Bernoulli { stream: Some(stream), .. }
            | Loss::GilbertElliott { stream: Some(stream), .. }
            | Loss::BitErrors { stream: Some(stream), .. } = &mut back.loss
            {
                stream.push_str("-back");
            }
            if let Some(field) = over {
                let table = field.table("a table such as { rate = \"1 Mbit/s\" }")?;
                direction(&Keys::of(table, "back", &SHARED)?, &mut back, &mut back_flows)?;
            }
        }
    }
    let bit_errors = if flips(&back) { keys.optional("back").or(patterns) } else { None };
    let bit_errors = patterns.filter(|_| flips(&link)).or(bit_errors);
    Ok(Declared { link, back: Some(back), nodes, name, from, to, flows, back_flows, bit_errors })
}

/// Reads the keys of one direction that are there.
fn direction<'t>(keys: &Keys<'t>, link: &mut Link, flows: &mut NamedFlows<'t>) -> Result<(), Problem> {
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
        (link.loss, flows.loss) = loss::read(&field)?;
    }
    if let Some(field) = keys.optional("loss_at") {
        link.loss_at = field.choice("place", &[("exit", LossAt::Exit), ("entry", LossAt::Entry)])?;
    }
    if let Some(field) = keys.optional("condition") {
        link.conditions = condition::read(&field)?;
    }
    if let Some(field) = keys.optional("pattern") {
        (link.patterns, flows.patterns) = pattern::read(&field)?.into_iter().unzip();
    }
    if let Some(field) = keys.optional("mtu") {
        link.mtu = mtu(&field)?;
    }
    let words = [("known", MtuAnswer::Known), ("icmp", MtuAnswer::Icmp), ("silent", MtuAnswer::Silent)];
    if let Some(field) = keys.optional("mtu_answer") {
        link.mtu_answer = field.choice("answer", &words)?;
    }
    if let Some(field) = keys.optional("mtu_changes") {
        link.mtu_changes =
            field.items("a list of tables")?.map(|item| change(&item)).collect::<Result<_, _>>()?;
        if link.mtu_answer == MtuAnswer::Known {
            return Err(field.problem(
                "the ends cannot know an MTU that changes: mtu_answer must be \"icmp\" or \"silent\"",
            ));
        }
        if !link.mtu_changes.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(field.problem("times must rise"));
        }
    }
    Ok(())
}

fn mtu(field: &Field<'_>) -> Result<u32, Problem> {
    let mtu = field.quantity("\"1500 B\"", units::size)?;
    if !(SMALLEST_MTU..=LARGEST_MTU).contains(&mtu) {
        return Err(
            field.problem(format!("{mtu} B is out of range; allowed: {SMALLEST_MTU} B to {LARGEST_MTU} B"))
        );
    }
    Ok(u32::try_from(mtu).unwrap_or(DEFAULT_MTU))
}

fn change(field: &Field<'_>) -> Result<(Duration, u32), Problem> {
    let table = field.table("a table such as { at = \"5 s\", mtu = \"1300 B\" }")?;
    let keys = Keys::of(table, "mtu_changes", &["at", "mtu"])?;
    let at = keys.required("at", "\"5 s\"")?.quantity("\"5 s\"", units::time)?;
    Ok((at, mtu(&keys.required("mtu", "\"1300 B\"")?)?))
}
