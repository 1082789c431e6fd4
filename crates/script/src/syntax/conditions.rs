//! `#ifdef`, `#ifndef`, `#else`, `#endif`, and the lines that begin with `--`.

use crate::error::ScriptError;

/// A script without the parts that its conditions exclude; lines keep their numbers.
pub(crate) struct Chosen {
    pub(crate) text: String,
    /// Line, name, value of each `--name=value`.
    pub(crate) options: Vec<(usize, String, String)>,
}

/// One `#ifdef` that is open.
struct Block {
    line: usize,
    taken: bool,
    in_else: bool,
}

/// Keeps the lines that the defined symbols choose.
pub(crate) fn choose(text: &str, defined: &[String]) -> Result<Chosen, ScriptError> {
    let mut chosen = Chosen { text: String::new(), options: Vec::new() };
    let mut blocks: Vec<Block> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let trimmed = raw.trim();
        if let Some(directive) = trimmed.strip_prefix('#') {
            directive_of(directive, line, defined, &mut blocks)?;
        } else if blocks.iter().all(|block| block.taken != block.in_else) {
            if let Some(option) = trimmed.strip_prefix("--") {
                options_of(option, line, &mut chosen.options);
            } else {
                chosen.text.push_str(raw);
            }
        }
        chosen.text.push('\n');
    }
    match blocks.last() {
        Some(open) => Err(ScriptError::new(open.line, "#ifdef without #endif")),
        None => Ok(chosen),
    }
}

/// Several options may stand in a line: `--a=1 --b=2`.
fn options_of(text: &str, line: usize, options: &mut Vec<(usize, String, String)>) {
    let text = text.split("//").next().unwrap_or(text);
    for option in text.split(" --") {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        options.push((line, name.trim().to_owned(), value.trim().to_owned()));
    }
}

fn directive_of(
    text: &str,
    line: usize,
    defined: &[String],
    blocks: &mut Vec<Block>,
) -> Result<(), ScriptError> {
    let text = text.split("//").next().unwrap_or(text);
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or("");
    let symbol = words.next().unwrap_or("");
    let is_defined = || defined.iter().any(|name| name == symbol);
    match word {
        "ifdef" => blocks.push(Block { line, taken: is_defined(), in_else: false }),
        "ifndef" => blocks.push(Block { line, taken: !is_defined(), in_else: false }),
        "else" => match blocks.last_mut() {
            Some(block) if !block.in_else => block.in_else = true,
            _ => return Err(ScriptError::new(line, "#else without #ifdef")),
        },
        "endif" => {
            if blocks.pop().is_none() {
                return Err(ScriptError::new(line, "#endif without #ifdef"));
            }
        }
        // The first line of a program that runs scripts.
        _ if line == 1 && text.starts_with('!') => {}
        _ => {
            return Err(ScriptError::new(
                line,
                format!("unknown directive `#{word}`; allowed: #ifdef, #ifndef, #else, #endif"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_branches_and_lines_keep_their_numbers() {
        let text = "--a=1 --b\n#ifdef X\nx\n#else\ny\n#endif\n";
        let with = choose(text, &["X".to_owned()]).unwrap();
        assert_eq!(with.text, "\n\nx\n\n\n\n");
        assert_eq!(with.options, [(1, "a".into(), "1".into()), (1, "b".into(), String::new())]);
        assert_eq!(choose(text, &[]).unwrap().text, "\n\n\n\ny\n\n");
        assert_eq!(choose("#ifdef X\n", &[]).err().unwrap().message, "#ifdef without #endif");
    }
}
