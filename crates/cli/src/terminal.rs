//! The terminal on standard output, if there is one.

/// Characters in a line; `None` where standard output is no terminal.
pub(crate) fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_rows, columns)| usize::from(columns))
}

/// A sign that not every character set has, or `otherwise` where the environment says that letters are ASCII. Where it says nothing most
/// terminals show UTF-8 all the same.
pub(crate) fn sign(sign: &'static str, otherwise: &'static str) -> &'static str {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
    if said.is_some_and(|locale| locale == "C" || locale == "POSIX") { otherwise } else { sign }
}
