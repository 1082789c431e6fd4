//! Words, numbers and marks, each with its line.

use crate::error::ScriptError;

/// A piece of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// As written: decimal, with a fraction, or `0x...`.
    Number(String),
    Word(String),
    Text(String),
    /// The text between backquotes.
    Shell(String),
    Ellipsis,
    Mark(char),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(text) | Self::Word(text) => write!(f, "`{text}`"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Shell(text) => write!(f, "a shell line `{text}`"),
            Self::Ellipsis => f.write_str("`...`"),
            Self::Mark(mark) => write!(f, "`{mark}`"),
        }
    }
}

/// The pieces of a text with the lines they stand in.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ScriptError> {
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0, line: 1 };
    let mut found: Vec<(Token, usize)> = Vec::new();
    while let Some(token) = lexer.next()? {
        found.push(token);
        // An address may stand without quotes: `addr=192.0.2.1`, `addr=2001:db8::1`.
        if let [.., (Token::Word(key), _), (Token::Mark('='), _)] = found.as_slice() {
            if key == "addr" {
                lexer.skip()?;
                let line = lexer.line;
                if let Some(address) = lexer.address() {
                    found.push((Token::Text(address), line));
                }
            }
        }
        // Also before and behind the `>` of `< 192.0.2.7 > 192.168.0.1 sctp:`, and behind the `]` of `< [ce] 192.0.2.7 > ...`.
        if let Some((Token::Mark('<' | '>' | ']'), _)) = found.last() {
            lexer.skip()?;
            let line = lexer.line;
            if let Some(address) = lexer.like_an_address() {
                found.push((Token::Text(address), line));
            }
        }
    }
    Ok(found)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    line: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, good: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek(0).filter(|c| good(*c)) {
            taken.push(c);
            self.bump();
        }
        taken
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), ScriptError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(c), _) if c.is_whitespace() => {
                    self.bump();
                }
                (Some('/'), Some('/')) => {
                    self.take_while(|c| c != '\n');
                }
                (Some('/'), Some('*')) => {
                    let begin = self.line;
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (Some('*'), Some('/')) {
                        if self.bump().is_none() {
                            return Err(ScriptError::new(begin, "a comment begins with /* and does not end"));
                        }
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn next(&mut self) -> Result<Option<(Token, usize)>, ScriptError> {
        self.skip()?;
        let line = self.line;
        let Some(c) = self.peek(0) else { return Ok(None) };
        let token = if c.is_ascii_digit() {
            Token::Number(self.number())
        } else if c.is_ascii_alphabetic() || c == '_' {
            Token::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
        } else if c == '.' && self.peek(1) == Some('.') && self.peek(2) == Some('.') {
            self.at += 3;
            Token::Ellipsis
        } else if c == '"' || c == '`' {
            self.bump();
            let inner = self.quoted(c, line)?;
            if c == '"' { Token::Text(inner) } else { Token::Shell(inner) }
        } else {
            self.bump();
            Token::Mark(c)
        };
        Ok(Some((token, line)))
    }

    fn number(&mut self) -> String {
        if self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X')) {
            self.at += 2;
            return format!("0x{}", self.take_while(|c| c.is_ascii_hexdigit()));
        }
        let mut text = self.take_while(|c| c.is_ascii_digit());
        // `0...0.5` is a number, dots, and another number.
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
            text.push('.');
            text.push_str(&self.take_while(|c| c.is_ascii_digit()));
        }
        text
    }

    /// An IP address that stands here without quotes.
    fn address(&mut self) -> Option<String> {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let len = rest.iter().take_while(|c| c.is_ascii_hexdigit() || matches!(c, '.' | ':')).count();
        let text: String = rest.iter().take(len).collect();
        text.parse::<std::net::IpAddr>().ok()?;
        self.at += len;
        Some(text)
    }

    /// Takes a text that looks like an IP address, valid or not: it has three points, or two colons in a row.
    fn like_an_address(&mut self) -> Option<String> {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let in_one = |c: &&char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':');
        let text: String = rest.iter().take_while(in_one).collect();
        let dotted = text.matches('.').count() == 3 && !text.contains("..");
        if !(dotted || text.contains("::")) {
            return None;
        }
        self.at += text.len();
        Some(text)
    }

    fn quoted(&mut self, end: char, line: usize) -> Result<String, ScriptError> {
        let mut inner = String::new();
        loop {
            match self.bump() {
                Some(c) if c == end => return Ok(inner),
                Some('\\') if end == '"' => match self.bump() {
                    Some('n') => inner.push('\n'),
                    Some('0') => inner.push('\0'),
                    Some(c) => inner.push(c),
                    None => break,
                },
                Some(c) => inner.push(c),
                None => break,
            }
        }
        Err(ScriptError::new(line, format!("a quotation begins with {end} and does not end")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_quotes() {
        let kinds = |text: &str| -> Vec<Token> { tokens(text).unwrap().into_iter().map(|t| t.0).collect() };
        for address in ["1.1.1.1", "fe80::250:56ff:fe24:9e6", "::"] {
            assert_eq!(
                kinds(&format!("[addr= {address}, 2:3]")),
                kinds(&format!("[addr=\"{address}\", 2:3]"))
            );
        }
        assert_eq!(kinds("addr=...")[2], Token::Ellipsis);
        assert_eq!(kinds("addr=inet_addr(\"1.1.1.1\")")[2], Token::Word("inet_addr".into()));
        assert!(kinds("addr=1.1").contains(&Token::Number("1.1".into())));
    }

    #[test]
    fn a_time_with_an_end_is_three_tokens() {
        let kinds: Vec<Token> =
            tokens("0...0.5 0x1F // gone\n\"a\\\"b\"").unwrap().into_iter().map(|t| t.0).collect();
        assert_eq!(
            kinds,
            [
                Token::Number("0".into()),
                Token::Ellipsis,
                Token::Number("0.5".into()),
                Token::Number("0x1F".into()),
                Token::Text("a\"b".into()),
            ]
        );
    }
}
