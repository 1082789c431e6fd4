//! Models of random loss on a link.

use anabranch_link::{BurstParameters, DscpSet};

use super::applies::{self, Applies};
use super::dscp::dscps;
use super::error::Problem;
use super::keys::{Field, Keys};

/// The loss model of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Loss {
    /// No losses.
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
        /// Packets that are counted and may be lost.
        applies: Applies,
        /// Only packets with these code points.
        dscp: DscpSet,
        /// As for Bernoulli.
        stream: Option<String>,
    },
    /// Packets with a wrong bit.
    BitErrors {
        /// Probability that a bit is wrong, 0 to 1.
        rate: f64,
        /// Packets that are counted and may be lost.
        applies: Applies,
        /// Only packets with these code points.
        dscp: DscpSet,
        /// As for Bernoulli.
        stream: Option<String>,
    },
    /// The packets at given places.
    Positions {
        /// Packet numbers from 1, rising, none twice. Counted are the packets that `applies`, `dscp` and `flow` select.
        drop: Vec<u64>,
        /// Packets that are counted.
        applies: Applies,
        /// Count only packets with these code points.
        dscp: DscpSet,
        /// Count only the packets of this flow (its place in `flows`), in the direction of the link. `None`: all.
        flow: Option<usize>,
    },
}

/// Reads `loss`, and the name of the flow that it looks at: the number of the flow is not known yet.
pub(super) fn read<'t>(field: &Field<'t>) -> Result<(Loss, Option<Field<'t>>), Problem> {
    const KINDS: [&str; 5] = ["none", "bernoulli", "gilbert-elliott", "bit-errors", "positions"];
    let table = field.table("a table such as { kind = \"bernoulli\", p = 1e-4 }")?;
    let stream = |keys: &Keys<'_>| keys.optional("stream").map(|field| field.name()).transpose();
    match Keys::kind(table, "loss", "\"bernoulli\"", &KINDS)? {
        "bernoulli" => {
            let keys =
                Keys::of(table, "a loss of kind \"bernoulli\"", &["kind", "p", "applies", "dscp", "stream"])?;
            Ok((
                Loss::Bernoulli {
                    p: keys.required("p", "1e-4")?.probability()?,
                    applies: applies::read(&keys)?,
                    dscp: dscps(&keys)?,
                    stream: stream(&keys)?,
                },
                None,
            ))
        }
        "gilbert-elliott" => {
            let own = ["kind", "p", "r", "good", "bad", "applies", "dscp", "stream"];
            let keys = Keys::of(table, "a loss of kind \"gilbert-elliott\"", &own)?;
            let or = |key, usual| keys.optional(key).map_or(Ok(usual), |field| field.probability());
            Ok((
                Loss::GilbertElliott {
                    parameters: BurstParameters {
                        to_bad: keys.required("p", "0.001")?.probability()?,
                        to_good: keys.required("r", "0.2")?.probability()?,
                        good: or("good", 0.0)?,
                        bad: or("bad", 1.0)?,
                    },
                    applies: applies::read(&keys)?,
                    dscp: dscps(&keys)?,
                    stream: stream(&keys)?,
                },
                None,
            ))
        }
        "bit-errors" => {
            let own = ["kind", "ber", "applies", "dscp", "stream"];
            let keys = Keys::of(table, "a loss of kind \"bit-errors\"", &own)?;
            Ok((
                Loss::BitErrors {
                    rate: keys.required("ber", "1e-6")?.probability()?,
                    applies: applies::read(&keys)?,
                    dscp: dscps(&keys)?,
                    stream: stream(&keys)?,
                },
                None,
            ))
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
            let (applies, dscp) = (applies::read(&keys)?, dscps(&keys)?);
            flow.map(|field| field.name()).transpose()?;
            Ok((Loss::Positions { drop, applies, dscp, flow: None }, flow))
        }
        _ => Keys::of(table, "a loss of kind \"none\"", &["kind"]).map(|_| (Loss::None, None)),
    }
}
