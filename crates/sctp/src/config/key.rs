//! A value that can be set by its name.

use super::Config;

/// One settable value.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub expected: &'static str,
    /// What it does.
    pub doc: &'static str,
    pub(super) set: fn(&mut Config, &str) -> Option<()>,
    pub(super) get: fn(&Config) -> String,
}

impl Key {
    /// The value as text.
    pub(super) fn value(&self, config: &Config) -> String {
        (self.get)(config)
    }

    /// Sets the value as another configuration has it; `None` when that is not allowed.
    pub(super) fn copy(&self, config: &mut Config, from: &Config) -> Option<()> {
        (self.set)(config, &self.value(from))
    }
}

macro_rules! key {
    ($name:ident: $($field:ident).+, $parse:path, $show:expr, $expected:expr, $doc:expr) => {
        Key {
            name: stringify!($name),
            expected: $expected,
            doc: $doc,
            set: |c, v| {
                c.$($field).+ = $parse(v)?;
                Some(())
            },
            get: |c| $show(&c.$($field).+),
        }
    };
    (quirk $name:ident, $doc:expr) => {
        Key {
            name: concat!("quirk_", stringify!($name)),
            expected: SWITCH,
            doc: $doc,
            set: |c, v| {
                c.emulation.quirks.$name = switch(v)?;
                Some(())
            },
            get: |c| shown(&c.emulation.quirks.$name),
        }
    };
}
pub(super) use key;

pub(super) const DURATION: &str = "a time in ns, us, ms, s, min or h such as \"200 ms\"";
pub(super) const BYTES: &str = "a size in B, kB, MB, GB, KiB, MiB or GiB such as \"64 KiB\"";
pub(super) const COUNT: &str = "a whole number";
pub(super) const SWITCH: &str = "true or false";
