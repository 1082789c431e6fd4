//! The terminal that standard output is, if it is one.

/// Characters in a line; `None` where nobody would mind longer ones.
pub(crate) fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_rows, columns)| usize::from(columns))
}
