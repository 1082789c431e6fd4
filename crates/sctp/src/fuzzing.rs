//! Doors for fuzz targets, behind the feature `fuzzing`.

use crate::cookie::Cookie;

/// Decodes the contents of a State Cookie, as if its MAC had been right, and encodes them again.
#[must_use]
pub fn cookie(contents: &[u8]) -> Option<Vec<u8>> {
    Cookie::decode(contents).map(|cookie| cookie.encode())
}
