//! Values are set and shown by their names, as a scenario file or a command line has them.

use super::Config;
use super::error::ConfigError;
use super::key::{KEYS, Key};

impl Config {
    /// Every settable value, sorted by name.
    #[must_use]
    pub fn keys() -> &'static [Key] {
        &KEYS
    }

    /// Sets one value from text.
    ///
    /// # Errors
    /// When there is no such value, or the text does not fit it (the message lists what is allowed), or it does not fit the
    /// other values: options that bound each other, such as `rto_min` and `rto_max`, are to be set in an order that fits.
    // rfc9260:3.3.2-8 rfc9260:3.3.2-11 rfc9260:3.3.2-13
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let Some(entry) = Key::find(key) else {
            let allowed = KEYS.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
            return Err(ConfigError::UnknownKey { key: key.to_owned(), allowed });
        };
        let mut changed = self.clone();
        if entry.set(&mut changed, value.trim()).is_none() {
            return Err(ConfigError::BadValue {
                key: entry.name,
                value: value.to_owned(),
                expected: entry.expected,
            });
        }
        changed.check_fit()?;
        *self = changed;
        Ok(())
    }

    /// One value as text, as [`Config::set`] would take it; `None` when there is no such value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        Key::find(key).map(|key| key.value(self))
    }
}
