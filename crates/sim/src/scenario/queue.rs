//! The queue in front of a link.

use anabranch_base::Duration;
use anabranch_link::{
    AdaptiveRed, ClassConfig, ClassesConfig, CoDelConfig, Colour, FqCoDelConfig, Measure,
    QueueConfig as Queue, RedConfig, Scheduler, Victim, VirtualClass, VirtualConfig, VirtualMode,
    VirtualQuirks, Weight,
};

use super::dscp::dscps;
use super::error::Problem;
use super::keys::{Field, Keys};
use super::tree::{Table, Value};
use super::units;

const KINDS: [&str; 8] = ["droptail", "red", "rio-c", "rio-d", "wred", "codel", "fq-codel", "classes"];
/// More would be a slip of the pen.
const LARGEST: u64 = 1_000_000_000;

pub(super) fn read(field: &Field<'_>) -> Result<Queue, Problem> {
    let table = field.table("a table such as { kind = \"droptail\", packets = 100 }")?;
    match Keys::kind(table, "queue", "\"droptail\"", &KINDS)? {
        "red" => red(table),
        "rio-c" => virtual_red(table, VirtualMode::Coupled, "a queue of kind \"rio-c\""),
        "rio-d" => virtual_red(table, VirtualMode::Decoupled, "a queue of kind \"rio-d\""),
        "wred" => virtual_red(table, VirtualMode::Whole, "a queue of kind \"wred\""),
        "codel" => codel(table),
        "fq-codel" => fq_codel(table),
        "classes" => classes(table),
        _ => droptail(table),
    }
}

fn droptail(table: &Table) -> Result<Queue, Problem> {
    let keys = Keys::of(table, "a queue of kind \"droptail\"", &["kind", "packets", "bytes"])?;
    Ok(Queue::DropTail { packets: packets(&keys)?, bytes: bytes(&keys)? })
}

fn red(table: &Table) -> Result<Queue, Problem> {
    const KEYS: [&str; 17] = [
        "kind",
        "packets",
        "bytes",
        "min",
        "max",
        "max_p",
        "weight",
        "measure",
        "by_size",
        "mean_packet",
        "gentle",
        "wait",
        "drop",
        "ecn",
        "mark_p",
        "adaptive",
        "target_delay",
    ];
    let keys = Keys::of(table, "a queue of kind \"red\"", &KEYS)?;
    let usual = RedConfig::default();
    let min = keys.optional("min").map(|field| field.number(0.0, LARGEST as f64)).transpose()?;
    let max = keys.optional("max").map(|field| field.number(0.0, LARGEST as f64)).transpose()?;
    if let (Some(min), Some(max), Some(field)) = (min, max, keys.optional("max")) {
        ordered(min, max, &field)?;
    }
    if let (None, Some(_), Some(field)) = (min, max, keys.optional("max")) {
        return Err(field.problem("max needs min beside it; without both they are automatic"));
    }
    Ok(Queue::Red(RedConfig {
        packets: packets(&keys)?,
        bytes: bytes(&keys)?,
        min,
        max,
        max_p: keys.optional("max_p").map_or(Ok(usual.max_p), |field| field.probability())?,
        weight: keys.optional("weight").map_or(Ok(usual.weight), |field| weight(&field))?,
        measure: match keys.optional("measure") {
            None => usual.measure,
            Some(field) => {
                field.choice("measure", &[("packets", Measure::Packets), ("bytes", Measure::Bytes)])?
            }
        },
        by_size: truth(&keys, "by_size", usual.by_size)?,
        mean_packet: mean_packet(&keys)?.unwrap_or(usual.mean_packet),
        gentle: truth(&keys, "gentle", usual.gentle)?,
        wait: truth(&keys, "wait", usual.wait)?,
        victim: match keys.optional("drop") {
            None => usual.victim,
            Some(field) => field.choice(
                "drop",
                &[("tail", Victim::Arriving), ("random", Victim::Random), ("front", Victim::Oldest)],
            )?,
        },
        ecn: truth(&keys, "ecn", usual.ecn)?,
        mark_p: keys.optional("mark_p").map_or(Ok(usual.mark_p), |field| field.probability())?,
        adaptive: keys.optional("adaptive").map_or(Ok(None), |field| adaptive(&field))?,
        target_delay: time(&keys, "target_delay", "\"5 ms\"", usual.target_delay)?,
    }))
}

/// `true`, `false`, or a table with the values that differ from the defaults.
fn adaptive(field: &Field<'_>) -> Result<Option<AdaptiveRed>, Problem> {
    let usual = AdaptiveRed::default();
    let Value::Table(table) = &field.node.value else {
        return match field.node.value {
            Value::Boolean(truth) => Ok(truth.then_some(usual)),
            _ => Err(field.problem("expected true, false or a table such as { interval = \"500 ms\" }")),
        };
    };
    let keys = Keys::of(table, "adaptive", &["alpha", "beta", "interval", "top", "bottom"])?;
    let or = |key, usual| keys.optional(key).map_or(Ok(usual), |field: Field<'_>| field.probability());
    Ok(Some(AdaptiveRed {
        alpha: or("alpha", usual.alpha)?,
        beta: or("beta", usual.beta)?,
        interval: time(&keys, "interval", "\"500 ms\"", usual.interval)?,
        top: or("top", usual.top)?,
        bottom: keys.optional("bottom").map(|field| field.probability()).transpose()?,
    }))
}

fn virtual_red(table: &Table, mode: VirtualMode, what: &'static str) -> Result<Queue, Problem> {
    let keys =
        Keys::of(table, what, &["kind", "packets", "weight", "mean_packet", "ecn", "quirks", "classes"])?;
    let packets = packets(&keys)?;
    let list = keys.required("classes", "[{ dscp = [0], min = 5, max = 15 }]")?;
    let mut classes: Vec<VirtualClass> = Vec::new();
    for item in list.items("a list of tables such as [{ dscp = [0], min = 5, max = 15 }]")? {
        let class = virtual_class(&item, classes.len(), packets)?;
        named_once(&item, &class.name, classes.iter().map(|class| class.name.as_str()))?;
        classes.push(class);
    }
    some(&list, classes.len())?;
    Ok(Queue::VirtualRed(VirtualConfig {
        mode,
        packets,
        // The value of the DiffServ module.
        weight: keys.optional("weight").map_or(Ok(Weight::Fixed(0.002)), |field| weight(&field))?,
        mean_packet: mean_packet(&keys)?.unwrap_or_else(|| RedConfig::default().mean_packet),
        ecn: truth(&keys, "ecn", false)?,
        quirks: quirks(&keys)?,
        classes,
    }))
}

fn codel(table: &Table) -> Result<Queue, Problem> {
    const KEYS: [&str; 6] = ["kind", "packets", "bytes", "target", "interval", "ecn"];
    let keys = Keys::of(table, "a queue of kind \"codel\"", &KEYS)?;
    Ok(Queue::CoDel(controlled_delay(&keys, CoDelConfig::default())?))
}

fn fq_codel(table: &Table) -> Result<Queue, Problem> {
    const KEYS: [&str; 9] =
        ["kind", "packets", "bytes", "target", "interval", "ecn", "flows", "quantum", "by_dscp"];
    let keys = Keys::of(table, "a queue of kind \"fq-codel\"", &KEYS)?;
    let usual = FqCoDelConfig::default();
    let flows = keys.optional("flows").map(|field| field.integer(1, u64::from(u16::MAX))).transpose()?;
    Ok(Queue::FqCoDel(FqCoDelConfig {
        codel: controlled_delay(&keys, usual.codel)?,
        flows: flows.and_then(|flows| u16::try_from(flows).ok()).unwrap_or(usual.flows),
        quantum: packet_size(&keys, "quantum", "\"1514 B\"")?.unwrap_or(usual.quantum),
        by_dscp: truth(&keys, "by_dscp", usual.by_dscp)?,
    }))
}

fn controlled_delay(keys: &Keys<'_>, usual: CoDelConfig) -> Result<CoDelConfig, Problem> {
    Ok(CoDelConfig {
        packets: packets(keys)?.or(usual.packets),
        bytes: bytes(keys)?,
        target: time(keys, "target", "\"5 ms\"", usual.target)?,
        interval: time(keys, "interval", "\"100 ms\"", usual.interval)?,
        ecn: truth(keys, "ecn", usual.ecn)?,
    })
}

fn classes(table: &Table) -> Result<Queue, Problem> {
    let keys = Keys::of(table, "a queue of kind \"classes\"", &["kind", "scheduler", "quantum", "classes"])?;
    let names = [("priority", 0), ("drr", 1), ("wrr", 2)];
    let quantum = packet_size(&keys, "quantum", "\"1500 B\"")?;
    let scheduler = match keys.required("scheduler", "\"priority\"")?.choice("scheduler", &names)? {
        0 => Scheduler::Priority,
        1 => Scheduler::Drr { quantum: quantum.unwrap_or(1500) },
        _ => Scheduler::Wrr,
    };
    if let (Scheduler::Priority | Scheduler::Wrr, Some(field)) = (scheduler, keys.optional("quantum")) {
        return Err(field.problem("only the scheduler \"drr\" has a quantum"));
    }
    let list = keys.required("classes", "[{ dscp = [\"EF\"], queue = { kind = \"droptail\" } }]")?;
    let mut classes: Vec<ClassConfig<Queue>> = Vec::new();
    for item in list.items("a list of tables such as [{ dscp = [\"EF\"] }]")? {
        let table = item.table("a table such as { dscp = [\"EF\"] }")?;
        let keys = Keys::of(table, "a class", &["name", "dscp", "colour", "queue", "weight"])?;
        let weight = keys.optional("weight").map(|field| field.integer(1, 1_000_000)).transpose()?;
        if let (Scheduler::Priority, Some(field)) = (scheduler, keys.optional("weight")) {
            return Err(field.problem("with the scheduler \"priority\" a class has no weight"));
        }
        let class = ClassConfig {
            name: class_name(&keys, classes.len())?,
            dscp: dscps(&keys)?,
            colour: keys.optional("colour").map(|field| colour(&field)).transpose()?,
            queue: keys.optional("queue").map_or_else(|| Ok(Queue::default()), |field| read(&field))?,
            weight: weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or(1),
        };
        named_once(&item, &class.name, classes.iter().map(|class| class.name.as_str()))?;
        classes.push(class);
    }
    some(&list, classes.len())?;
    Ok(Queue::Classes(ClassesConfig { scheduler, classes }))
}

fn some(list: &Field<'_>, classes: usize) -> Result<(), Problem> {
    if (1..=64).contains(&classes) {
        Ok(())
    } else {
        Err(list.problem(format!("{classes} classes; allowed: 1 to 64")))
    }
}

fn quirks(keys: &Keys<'_>) -> Result<VirtualQuirks, Problem> {
    let mut quirks = VirtualQuirks::default();
    if let Some(field) = keys.optional("quirks") {
        for item in field.items("a list such as [\"overrun\"]")? {
            match item.choice("quirk", &[("overrun", true), ("idle-twice", false)])? {
                true => quirks.overrun = true,
                false => quirks.idle_twice = true,
            }
        }
    }
    Ok(quirks)
}

fn virtual_class(item: &Field<'_>, place: usize, packets: Option<u64>) -> Result<VirtualClass, Problem> {
    let table = item.table("a table such as { dscp = [0], min = 5, max = 15 }")?;
    let keys =
        Keys::of(table, "a virtual queue", &["name", "dscp", "colour", "min", "max", "max_p", "share"])?;
    let share = keys.optional("share").map(|field| field.probability().map(|share| (share, field)));
    let unit = match share.transpose()? {
        None => 1.0,
        Some((share, field)) => match packets {
            Some(packets) => share * packets as f64,
            None => return Err(field.problem("a share needs packets in the queue: a share of what?")),
        },
    };
    let threshold = |key, example| keys.required(key, example)?.number(0.0, LARGEST as f64);
    let (min, max) = (threshold("min", "5")?, threshold("max", "15")?);
    if let Some(field) = keys.optional("max") {
        ordered(min, max, &field)?;
    }
    Ok(VirtualClass {
        name: class_name(&keys, place)?,
        dscp: dscps(&keys)?,
        colour: keys.optional("colour").map(|field| colour(&field)).transpose()?,
        min: min * unit,
        max: max * unit,
        max_p: keys.optional("max_p").map_or(Ok(RedConfig::default().max_p), |field| field.probability())?,
    })
}

/// A class's name; without one its place, from 1.
fn class_name(keys: &Keys<'_>, place: usize) -> Result<String, Problem> {
    keys.optional("name").map_or_else(|| Ok((place + 1).to_string()), |field| field.name())
}

fn named_once<'n>(
    item: &Field<'_>,
    name: &str,
    mut before: impl Iterator<Item = &'n str>,
) -> Result<(), Problem> {
    match before.any(|other| other == name) {
        true => Err(item.problem(format!("two classes are called \"{name}\""))),
        false => Ok(()),
    }
}

fn colour(field: &Field<'_>) -> Result<Colour, Problem> {
    field.choice("colour", &[("green", Colour::Green), ("yellow", Colour::Yellow), ("red", Colour::Red)])
}

fn ordered(min: f64, max: f64, field: &Field<'_>) -> Result<(), Problem> {
    if min <= max { Ok(()) } else { Err(field.problem(format!("max {max} is below min {min}"))) }
}

fn packets(keys: &Keys<'_>) -> Result<Option<u64>, Problem> {
    keys.optional("packets").map(|field| field.integer(1, LARGEST)).transpose()
}

fn bytes(keys: &Keys<'_>) -> Result<Option<u64>, Problem> {
    let Some(field) = keys.optional("bytes") else { return Ok(None) };
    match field.quantity("\"64 KiB\"", units::size)? {
        0 => Err(field.problem("a queue needs room for at least 1 B")),
        bytes => Ok(Some(bytes)),
    }
}

fn mean_packet(keys: &Keys<'_>) -> Result<Option<u32>, Problem> {
    packet_size(keys, "mean_packet", "\"1000 B\"")
}

fn packet_size(keys: &Keys<'_>, key: &'static str, example: &str) -> Result<Option<u32>, Problem> {
    let Some(field) = keys.optional(key) else { return Ok(None) };
    let size = field.quantity(example, units::size)?;
    match u32::try_from(size) {
        Ok(size @ 1..=65_535) => Ok(Some(size)),
        _ => Err(field.problem(format!("{size} B is out of range; allowed: 1 B to 65535 B"))),
    }
}

fn truth(keys: &Keys<'_>, key: &'static str, usual: bool) -> Result<bool, Problem> {
    keys.optional(key).map_or(Ok(usual), |field| field.boolean())
}

fn time(keys: &Keys<'_>, key: &'static str, example: &str, usual: Duration) -> Result<Duration, Problem> {
    keys.optional(key).map_or(Ok(usual), |field| field.quantity(example, units::time))
}

/// A weight as it is, `"auto"`, or the time in which the average forgets.
fn weight(field: &Field<'_>) -> Result<Weight, Problem> {
    if let Value::Text(text) = &field.node.value {
        if text == "auto" {
            return Ok(Weight::Auto);
        }
        let memory = units::time(text)
            .map_err(|message| field.problem(format!("{message}; or a number of 0 to 1, or \"auto\"")))?;
        if memory == Duration::ZERO {
            return Err(field.problem("an average that forgets in no time is no average"));
        }
        return Ok(Weight::Memory(memory));
    }
    let weight = field.probability()?;
    if weight == 0.0 {
        return Err(field.problem(
            "with a weight of 0 the average never moves; allowed: more than 0 to 1, \"auto\", or a time",
        ));
    }
    Ok(Weight::Fixed(weight))
}
