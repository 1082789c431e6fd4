//! The declaration of one value of a group: name, allowed values and effect, written once beside the field that holds
//! it.

/// All properties of a value but its text.
#[derive(Clone, Copy, Debug)]
pub(in crate::config) struct About {
    pub(in crate::config) name: &'static str,
    pub(in crate::config) kind: &'static str,
    pub(in crate::config) unit: &'static str,
    pub(in crate::config) allowed: &'static str,
    /// It may change while an association lives.
    pub(in crate::config) live: bool,
    /// The peer is told, or it follows from values that the peer is told.
    pub(in crate::config) promised: bool,
    pub(in crate::config) sentence: &'static str,
    pub(in crate::config) source: &'static str,
}

/// A value of the group `G`.
pub(in crate::config) struct Entry<G: 'static> {
    pub(in crate::config) about: About,
    pub(in crate::config) set: fn(&mut G, &str) -> Option<()>,
    pub(in crate::config) get: fn(&G) -> String,
}

/// The entry of one field: its name as text, its kind, `live` where it may change while an association lives, `promised` where the peer is
/// told of it, a sentence, and where it comes from.
macro_rules! entry {
    ($group:ty, $field:ident, $type:ty, { $name:ident: $kind:expr, [$($flag:ident)*] $sentence:literal ($source:literal) }) => {{
        const KIND: $crate::config::values::kinds::Kind<$type> = $kind;
        const FLAGS: (bool, bool) = $crate::config::groups::entry::flags!($($flag)*);
        $crate::config::groups::entry::Entry::<$group> {
            about: $crate::config::groups::entry::About {
                name: stringify!($name),
                kind: KIND.name,
                unit: KIND.unit,
                allowed: KIND.allowed,
                live: FLAGS.0,
                promised: FLAGS.1,
                sentence: $sentence,
                source: $source,
            },
            set: |group, text| {
                group.$field = (KIND.parse)(text)?;
                Some(())
            },
            get: |group| (KIND.show)(&group.$field),
        }
    }};
}
pub(in crate::config) use entry;

/// The flags `live` and `promised` of a value, as a pair.
macro_rules! flags {
    () => {
        (false, false)
    };
    (live) => {
        (true, false)
    };
    (promised) => {
        (false, true)
    };
    (live promised) => {
        (true, true)
    };
}
pub(in crate::config) use flags;

/// A struct of values. Each has a field, a type, its value in the profile `rfc9260`, and behind the arrow the input of [`entry!`].
/// Those in `@plain` have no name as text.
macro_rules! group {
    (
        $(#[$meta:meta])*
        pub struct $group:ident {
            $( @plain { $( $(#[$plain_doc:meta])* $plain:ident: $plain_type:ty = $plain_default:expr; )+ } )?
            $( $(#[$doc:meta])* $field:ident: $type:ty = $default:expr => $row:tt; )+
        }
    ) => {
        $(#[$meta])*
        pub struct $group {
            $( $( $(#[$plain_doc])* pub $plain: $plain_type, )+ )?
            $( $(#[$doc])* pub $field: $type, )+
        }

        impl $group {
            /// The values of the profile `rfc9260`.
            pub const DEFAULT: Self = Self {
                $( $( $plain: $plain_default, )+ )?
                $( $field: $default, )+
            };

            /// Name, allowed values and effect of each.
            pub(in crate::config) const ENTRIES: &'static [$crate::config::groups::entry::Entry<Self>] =
                &[ $( $crate::config::groups::entry::entry!($group, $field, $type, $row), )+ ];
        }
    };
}
pub(in crate::config) use group;
