//! Traffic conditioning at the entry of a link: code points rewritten, meters, policers.

use anabranch_base::{Dscp, Duration};
use anabranch_link::{Action, ConditionerConfig, Conditioning, DscpSet, MeterConfig};

use super::dscp::{dscp, dscps};
use super::error::Problem;
use super::keys::{Field, Keys};
use super::rate::Rate;
use super::tree::{Table, Value};
use super::units;

const KINDS: [&str; 6] = ["rewrite", "bleach", "token-bucket", "srtcm", "trtcm", "tsw"];

/// A conditioner, or a list of them in the order in which they act.
pub(super) fn read(field: &Field<'_>) -> Result<Vec<ConditionerConfig>, Problem> {
    if matches!(field.node.value, Value::Array(_)) {
        return field.items("a list of tables")?.map(|item| one(&item)).collect();
    }
    Ok(vec![one(field)?])
}

fn one(field: &Field<'_>) -> Result<ConditionerConfig, Problem> {
    let table = field.table("a table such as { kind = \"bleach\" }")?;
    match Keys::kind(table, "condition", "\"bleach\"", &KINDS)? {
        "rewrite" => rewrite(table),
        "bleach" => {
            let keys = Keys::of(table, "a condition of kind \"bleach\"", &["kind", "dscp"])?;
            let rules = vec![(DscpSet::ALL, Dscp::DEFAULT)];
            Ok(ConditionerConfig { dscp: dscps(&keys)?, what: Conditioning::Rewrite(rules) })
        }
        "token-bucket" => {
            let what = "a condition of kind \"token-bucket\"";
            let keys = Keys::of(table, what, &["kind", "dscp", "rate", "burst", "green", "red"])?;
            metered(
                &keys,
                MeterConfig::TokenBucket { rate: rate(&keys, "rate")?, burst: size(&keys, "burst")? },
            )
        }
        "srtcm" => {
            let what = "a condition of kind \"srtcm\"";
            let own = ["kind", "dscp", "cir", "cbs", "ebs", "aware", "green", "yellow", "red"];
            let keys = Keys::of(table, what, &own)?;
            let (cir, cbs, ebs) = (rate(&keys, "cir")?, size(&keys, "cbs")?, size(&keys, "ebs")?);
            metered(&keys, MeterConfig::SrTcm { cir, cbs, ebs, aware: aware(&keys)? })
        }
        "trtcm" => {
            let what = "a condition of kind \"trtcm\"";
            let own = ["kind", "dscp", "cir", "cbs", "pir", "pbs", "aware", "green", "yellow", "red"];
            let keys = Keys::of(table, what, &own)?;
            let (cir, cbs) = (rate(&keys, "cir")?, size(&keys, "cbs")?);
            let (pir, pbs) = (peak(&keys, cir)?, size(&keys, "pbs")?);
            metered(&keys, MeterConfig::TrTcm { cir, cbs, pir, pbs, aware: aware(&keys)? })
        }
        _ => {
            let what = "a condition of kind \"tsw\"";
            let own = ["kind", "dscp", "cir", "pir", "window", "green", "yellow", "red"];
            let keys = Keys::of(table, what, &own)?;
            let cir = rate(&keys, "cir")?;
            let pir = if keys.optional("pir").is_some() { peak(&keys, cir)? } else { cir };
            let window = keys.optional("window").map_or(Ok(Duration::from_secs(1)), |field| {
                match field.quantity("\"1 s\"", units::time)? {
                    Duration::ZERO => Err(field.problem("a window has to be longer than 0")),
                    window => Ok(window),
                }
            });
            metered(&keys, MeterConfig::TimeSlidingWindow { cir, pir, window: window? })
        }
    }
}

fn rewrite(table: &Table) -> Result<ConditionerConfig, Problem> {
    let keys = Keys::of(table, "a condition of kind \"rewrite\"", &["kind", "rules"])?;
    let mut rules = Vec::new();
    for item in keys.required("rules", "[{ dscp = [\"EF\"], to = 0 }]")?.items("a list of tables")? {
        let table = item.table("a table such as { dscp = [\"EF\"], to = 0 }")?;
        let keys = Keys::of(table, "a rule of a condition", &["dscp", "to"])?;
        rules.push((dscps(&keys)?, dscp(&keys.required("to", "0")?)?));
    }
    Ok(ConditionerConfig { dscp: DscpSet::ALL, what: Conditioning::Rewrite(rules) })
}

fn metered(keys: &Keys<'_>, meter: MeterConfig) -> Result<ConditionerConfig, Problem> {
    let actions = [action(keys, "green")?, action(keys, "yellow")?, action(keys, "red")?];
    Ok(ConditionerConfig { dscp: dscps(keys)?, what: Conditioning::Meter { meter, actions } })
}

/// `"pass"`, `"drop"`, or the code point that the packet gets.
fn action(keys: &Keys<'_>, key: &'static str) -> Result<Action, Problem> {
    let Some(field) = keys.optional(key) else { return Ok(Action::Pass) };
    match &field.node.value {
        Value::Text(text) if text == "pass" => Ok(Action::Pass),
        Value::Text(text) if text == "drop" => Ok(Action::Drop),
        _ => dscp(&field).map(Action::Mark),
    }
}

fn aware(keys: &Keys<'_>) -> Result<bool, Problem> {
    keys.optional("aware").map_or(Ok(false), |field| field.boolean())
}

fn rate(keys: &Keys<'_>, key: &'static str) -> Result<u64, Problem> {
    let field = keys.required(key, "\"1 Mbit/s\"")?;
    match field.quantity("\"1 Mbit/s\"", units::rate)? {
        Rate::BitsPerSecond(bits) => Ok(bits),
        Rate::Infinite => Err(field.problem("a meter needs a rate that is not infinite")),
    }
}

/// A peak rate, which is not below the committed one.
fn peak(keys: &Keys<'_>, cir: u64) -> Result<u64, Problem> {
    let pir = rate(keys, "pir")?;
    match keys.optional("pir") {
        Some(field) if pir < cir => Err(field.problem(format!("{pir} bit/s is below cir, {cir} bit/s"))),
        _ => Ok(pir),
    }
}

fn size(keys: &Keys<'_>, key: &'static str) -> Result<u64, Problem> {
    keys.required(key, "\"15 kB\"")?.quantity("\"15 kB\"", units::size)
}
