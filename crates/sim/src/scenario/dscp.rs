//! Code points, by number or by name.

use anabranch_base::Dscp;
use anabranch_link::DscpSet;

use super::error::{Problem, hint, list, quote};
use super::keys::{Field, Keys};
use super::tree::Value;

/// Code points with the names that RFC 2474, 2597, 3246, 5865 and 8622 give them.
const CODE_POINTS: [(&str, u8); 24] = [
    ("BE", 0),
    ("LE", 1),
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("EF", 46),
    ("VA", 44),
];

/// One code point.
pub(super) fn dscp(field: &Field<'_>) -> Result<Dscp, Problem> {
    let value = match &field.node.value {
        Value::Text(text) => {
            let names = || CODE_POINTS.iter().map(|&(name, _)| name);
            CODE_POINTS.iter().find(|(name, _)| name == text).map(|&(_, value)| value).ok_or_else(|| {
                field.problem(format!(
                    "unknown code point {}{}; allowed: 0 to 63, {}",
                    quote(text),
                    hint(text, names()),
                    list(names())
                ))
            })?
        }
        _ => u8::try_from(field.integer(0, 63)?).unwrap_or(0),
    };
    Ok(Dscp::new(value).unwrap_or_default())
}

/// The code points that `dscp` names; all without it.
pub(super) fn dscps(keys: &Keys<'_>) -> Result<DscpSet, Problem> {
    let Some(field) = keys.optional("dscp") else { return Ok(DscpSet::ALL) };
    if !matches!(field.node.value, Value::Array(_)) {
        return Ok(std::iter::once(dscp(&field)?).collect());
    }
    let points = field.items("a list of code points such as [0, \"AF11\"]")?;
    let set = points.map(|item| dscp(&item)).collect::<Result<Vec<Dscp>, Problem>>()?;
    if set.is_empty() {
        return Err(field.problem("an empty list selects nothing; leave dscp out for all code points"));
    }
    Ok(set.into_iter().collect())
}
