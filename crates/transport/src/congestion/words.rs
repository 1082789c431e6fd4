//! Values that have a word in configurations.

/// An enum, the word of each value, and all of them in one text.
macro_rules! words {
    ($(#[$meta:meta])* $type:ident {
        $(#[$first_meta:meta])* $first:ident = $first_word:literal,
        $( $(#[$variant_meta:meta])* $variant:ident = $word:literal, )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $(#[$first_meta])* $first, $( $(#[$variant_meta])* $variant, )* }

        impl $type {
            /// Every word, separated by commas.
            pub const ALLOWED: &'static str = concat!($first_word $(, ", ", $word )*);

            /// The value of that word.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $first_word => Some(Self::$first), $( $word => Some(Self::$variant), )* _ => None }
            }

            /// Its word.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { Self::$first => $first_word, $( Self::$variant => $word, )* }
            }
        }
    };
}

pub(super) use words;
