//! The size of an application's message.

use super::error::Problem;
use super::keys::Field;
use super::units;

/// Largest message that an application may send in one piece.
const LARGEST_MESSAGE: u64 = 16 << 20;

/// The size of one message.
pub(super) fn read(field: &Field<'_>) -> Result<u32, Problem> {
    let size = field.quantity("\"1452 B\"", units::size)?;
    if !(1..=LARGEST_MESSAGE).contains(&size) {
        return Err(field.problem(format!("{size} B is out of range; allowed: 1 B to 16 MiB")));
    }
    Ok(u32::try_from(size).unwrap_or(u32::MAX))
}
