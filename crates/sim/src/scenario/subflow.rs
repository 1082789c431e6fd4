//! Subflows of a flow, and changes while it runs.

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::SubflowSpec;

use super::dscp::dscp;
use super::error::Problem;
use super::keys::{Field, Keys};
use super::tree::Value;
use super::units;

/// More than a subflow number can name.
const MOST: u64 = 255;

/// A change at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedChange {
    /// After the start of the run.
    pub at: Duration,
    /// The change.
    pub change: Change,
}

/// A change of the subflows of an association while data flows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A stream moves to the subflow with this code point, which is opened if there is none.
    StreamDscp {
        /// The stream that moves.
        stream: u16,
        /// The code point.
        dscp: Dscp,
    },
    /// A stream moves to a subflow.
    StreamSubflow {
        /// The stream that moves.
        stream: u16,
        /// The number of the subflow.
        subflow: u8,
    },
    /// Another subflow is opened.
    Add(SubflowSpec),
    /// A subflow is closed; its streams move.
    Remove {
        /// The subflow that is closed.
        subflow: u8,
        /// The subflow that its streams move to.
        to: u8,
    },
    /// Two subflows become one.
    Merge {
        /// The subflow that ends.
        subflow: u8,
        /// The subflow that takes over.
        to: u8,
    },
}

const SPEC: [&str; 4] = ["dscp", "weight", "priority", "streams"];

/// `subflows`: a number of equal ones, or a table for each. `default` is the flow's code point.
pub(super) fn subflows(field: &Field<'_>, default: Dscp) -> Result<Vec<SubflowSpec>, Problem> {
    if let Value::Array(items) = &field.node.value {
        if items.is_empty() || items.len() as u64 > MOST {
            return Err(field.problem(format!("{} subflows; allowed: 1 to {MOST}", items.len())));
        }
        let what = "a list of tables such as { dscp = \"AF11\", streams = [0, 3] }";
        let mut specs = Vec::new();
        let mut taken: Vec<u16> = Vec::new();
        for item in field.items(what)? {
            let keys = Keys::of(item.table(what)?, "a subflow", &SPEC)?;
            let spec = spec(&keys, default)?;
            for stream in &spec.streams {
                if taken.contains(stream) {
                    return Err(item.problem(format!("stream {stream} belongs to two subflows")));
                }
            }
            taken.extend(&spec.streams);
            specs.push(spec);
        }
        return Ok(specs);
    }
    let count = field.integer(1, MOST)?;
    Ok((0..count).map(|_| SubflowSpec::new(default)).collect())
}

fn spec(keys: &Keys<'_>, default: Dscp) -> Result<SubflowSpec, Problem> {
    let mut spec = SubflowSpec::new(keys.optional("dscp").map_or(Ok(default), |field| dscp(&field))?);
    if let Some(field) = keys.optional("weight") {
        spec.weight = field.integer(1, 65_535)? as u16;
    }
    if let Some(field) = keys.optional("priority") {
        spec.priority = field.integer(0, 255)? as u8;
    }
    if let Some(field) = keys.optional("streams") {
        for item in field.items("a list of stream numbers such as [0, 3]")? {
            spec.streams.push(item.integer(0, 65_534)? as u16);
        }
    }
    Ok(spec)
}

/// `events`: changes in the order of time.
pub(super) fn events(field: &Field<'_>, default: Dscp) -> Result<Vec<TimedChange>, Problem> {
    let what = "a list of tables such as { at = \"10 s\", stream = 0, dscp = \"EF\" }";
    let mut all: Vec<TimedChange> = Vec::new();
    for item in field.items(what)? {
        let keys = Keys::of(
            item.table(what)?,
            "an event",
            &["at", "stream", "dscp", "subflow", "add", "remove", "merge", "to"],
        )?;
        let at = keys.required("at", "\"10 s\"")?.quantity("\"10 s\"", units::time)?;
        if all.last().is_some_and(|last| last.at > at) {
            return Err(item.problem("events stand in the order of time"));
        }
        let small = |name: &'static str| -> Result<Option<u8>, Problem> {
            keys.optional(name).map(|field| field.integer(0, MOST - 1).map(|n| n as u8)).transpose()
        };
        let stream = keys.optional("stream").map(|field| field.integer(0, 65_534)).transpose()?;
        let to = small("to")?.unwrap_or(0);
        let change = match (stream, keys.optional("add"), small("remove")?, small("merge")?) {
            (Some(stream), None, None, None) => {
                let stream = stream as u16;
                match (keys.optional("dscp"), small("subflow")?) {
                    (Some(field), None) => Change::StreamDscp { stream, dscp: dscp(&field)? },
                    (None, Some(subflow)) => Change::StreamSubflow { stream, subflow },
                    _ => {
                        return Err(
                            item.problem("a stream moves to a dscp or to a subflow: name one of them")
                        );
                    }
                }
            }
            (None, Some(field), None, None) => {
                let keys = Keys::of(field.table("a table such as { dscp = \"EF\" }")?, "a subflow", &SPEC)?;
                Change::Add(spec(&keys, default)?)
            }
            (None, None, Some(subflow), None) => Change::Remove { subflow, to },
            (None, None, None, Some(subflow)) => Change::Merge { subflow, to },
            _ => return Err(item.problem("an event has one of: stream, add, remove, merge")),
        };
        all.push(TimedChange { at, change });
    }
    Ok(all)
}
