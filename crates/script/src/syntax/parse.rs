//! Reading a script: packetdrill's grammar, where line breaks mean nothing.

use std::net::IpAddr;

use super::conditions;
use super::icmp;
use super::lex::{Token, tokens};
use super::script::{Action, Body, Call, Event, Icmp, Packet, Script, Time};
use crate::error::ScriptError;
use crate::value::{Field, Value};

/// Values nested deeper than this are refused.
const DEEPEST: usize = 40;
/// Times later than this are refused, nanoseconds: every heartbeat on the way there is played.
const LATEST: u64 = 10 * 86_400 * 1_000_000_000;

/// Reads a script; `defined` are the symbols that `#ifdef` looks at.
///
/// # Errors
/// The first line that is not understood, and the text that may stand there.
pub fn parse(text: &str, defined: &[String]) -> Result<Script, ScriptError> {
    let chosen = conditions::choose(text, defined)?;
    let tokens = tokens(&chosen.text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
    let mut events = Vec::new();
    while parser.peek().is_some() {
        events.push(parser.event()?);
    }
    Ok(Script { options: chosen.options, events })
}

struct Parser<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|(token, _)| token)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or_else(|| self.tokens.last()).map_or(1, |(_, line)| *line)
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, ScriptError> {
        let found = self.peek().map_or("the end of the script".to_owned(), ToString::to_string);
        Err(ScriptError::new(self.line(), format!("expected {expected}, found {found}")))
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at)?.0.clone();
        self.at += 1;
        Some(token)
    }

    /// Takes a mark if it is there.
    fn mark(&mut self, mark: char) -> bool {
        let there = self.peek() == Some(&Token::Mark(mark));
        if there {
            self.at += 1;
        }
        there
    }

    fn expect(&mut self, mark: char) -> Result<(), ScriptError> {
        if self.mark(mark) { Ok(()) } else { self.wrong(&format!("`{mark}`")) }
    }

    fn event(&mut self) -> Result<Event, ScriptError> {
        let line = self.line();
        if let Some(Token::Shell(text)) = self.peek() {
            // A shell line may stand without a time, before everything else.
            let text = text.clone();
            self.at += 1;
            return Ok(Event { line, time: Time::After(0), action: Action::Shell(text) });
        }
        let time = self.time()?;
        let action = match self.peek() {
            Some(Token::Mark('>' | '<')) => Action::Packet(self.packet()?),
            Some(Token::Shell(text)) => {
                let text = text.clone();
                self.at += 1;
                Action::Shell(text)
            }
            Some(Token::Word(_)) => Action::Call(self.call()?),
            _ => return self.wrong("`>` or `<` and a packet, a call, or a shell line in backquotes"),
        };
        if matches!(time, Time::Blocking { .. }) && !matches!(action, Action::Call(_)) {
            return Err(ScriptError::new(
                line,
                "only a call has an end; a packet in a range of time is written 0.1~0.3",
            ));
        }
        Ok(Event { line, time, action })
    }

    fn time(&mut self) -> Result<Time, ScriptError> {
        if self.mark('*') {
            return Ok(Time::Any);
        }
        let relative = self.mark('+');
        let start = self.seconds()?;
        if self.mark('~') {
            self.mark('+');
            let end = self.seconds()?;
            if end < start {
                return Err(ScriptError::new(self.line(), "a range of time ends before it begins"));
            }
            return Ok(if relative { Time::AfterBetween(start, end) } else { Time::Between(start, end) });
        }
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.mark('+');
            let end = self.seconds()?;
            if end < start {
                return Err(ScriptError::new(self.line(), "a call ends before it begins"));
            }
            return Ok(Time::Blocking { relative, start, end });
        }
        Ok(if relative { Time::After(start) } else { Time::At(start) })
    }

    /// Seconds, exactly: up to nine digits behind the point count.
    fn seconds(&mut self) -> Result<u64, ScriptError> {
        let Some(Token::Number(text)) = self.peek() else {
            return self.wrong("a time such as 0.5, +0.5, *, 0.1~0.3 or 0.0...0.5");
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        let nanos = whole
            .parse::<u64>()
            .ok()
            .and_then(|s| s.checked_mul(1_000_000_000))
            .zip(digits.parse::<u64>().ok());
        let Some((whole, fraction)) = nanos else {
            return self.wrong("a time in seconds");
        };
        self.at += 1;
        let nanos = whole.saturating_add(fraction);
        if nanos > LATEST {
            return Err(ScriptError::new(self.line(), "a time of more than 10 days is not allowed"));
        }
        Ok(nanos)
    }

    fn packet(&mut self) -> Result<Packet, ScriptError> {
        let outbound = self.peek() == Some(&Token::Mark('>'));
        self.at += 1;
        let mut packet = Packet {
            outbound,
            ecn: None,
            addresses: None,
            tag: None,
            bad_checksum: false,
            zero_checksum: false,
            udp: None,
            body: Body::Chunks(Vec::new()),
        };
        let mut quoted = None;
        if self.peek() == Some(&Token::Mark('[')) && self.peek_second() == Some(&Token::Word("sctp".into())) {
            quoted = Some(self.quoted_tag()?);
        } else if self.mark('[') {
            let Some(Token::Word(word)) = self.next() else { return self.wrong("an ECN mark") };
            if !["ect0", "ect1", "ce", "noecn"].contains(&word.as_str()) {
                return Err(ScriptError::new(
                    self.line(),
                    format!("unknown ECN mark `{word}`; allowed: ect0, ect1, ce, noecn"),
                ));
            }
            packet.ecn = Some(word);
            self.expect(']')?;
        }
        if let Some(Token::Text(_)) = self.peek() {
            packet.addresses = Some(self.addresses()?);
        }
        match self.peek() {
            Some(Token::Word(word)) if word == "icmp" && packet.addresses.is_some() => {
                return Err(ScriptError::new(
                    self.line(),
                    "an ICMP message goes without addresses; they stand before sctp only",
                ));
            }
            Some(Token::Word(word)) if word == "sctp" && quoted.is_none() => self.at += 1,
            Some(Token::Word(word)) if word == "icmp" && !outbound => {
                self.at += 1;
                packet.body = Body::Icmp(self.icmp(quoted)?);
                return Ok(packet);
            }
            Some(Token::Word(word)) => {
                let message = format!(
                    "packets of `{word}` do not exist here; allowed: sctp, sctp(tag=N), sctp(bad_crc32c), sctp(zero_crc32c), sctp/udp(1234 > 9899), and < icmp"
                );
                return Err(ScriptError::new(self.line(), message));
            }
            _ => return self.wrong("`sctp`, or addresses such as `192.0.2.7 > 192.168.0.1` before it"),
        }
        if self.mark('/') {
            packet.udp = Some(self.udp_ports()?);
        }
        if self.mark('(') {
            self.packet_options(&mut packet)?;
        }
        self.expect(':')?;
        if self.peek() == Some(&Token::Mark('[')) {
            let line = self.line();
            let list = self.value()?;
            let good = |item: &Value| {
                (outbound && item.is_any()) || item.number().is_some_and(|n| (0..256).contains(&n))
            };
            let Value::List(items) = &list else { return self.wrong("a list of bytes") };
            if !items.iter().all(good) {
                return Err(ScriptError::new(
                    line,
                    "a raw chunk is a list of bytes, such as [0x01, 0x00, 0x00, 0x04]; only what the stack sends may have `...`",
                ));
            }
            packet.body = Body::Raw(list);
            return Ok(packet);
        }
        let mut chunks = Vec::new();
        loop {
            let line = self.line();
            match self.value()? {
                chunk @ Value::Node(..) => chunks.push(chunk),
                other => {
                    let message = format!("expected a chunk such as DATA[flgs=BE, ...], found {other}");
                    return Err(ScriptError::new(line, message));
                }
            }
            if !self.mark(';') {
                break;
            }
        }
        packet.body = Body::Chunks(chunks);
        Ok(packet)
    }

    /// `192.0.2.7 > 192.168.0.1`: where a packet comes from and goes to.
    fn addresses(&mut self) -> Result<(IpAddr, IpAddr), ScriptError> {
        let line = self.line();
        let from = self.address()?;
        self.expect('>')?;
        let to = self.address()?;
        if from.is_ipv4() == to.is_ipv4() {
            return Ok((from, to));
        }
        let message = format!("both addresses of a packet are of one family, found {from} and {to}");
        Err(ScriptError::new(line, message))
    }

    fn address(&mut self) -> Result<IpAddr, ScriptError> {
        let Some(Token::Text(text)) = self.peek() else {
            return self.wrong("an IP address, as in `192.0.2.7 > 192.168.0.1 sctp:`");
        };
        let Ok(address) = text.parse() else {
            let message = format!("expected an IPv4 or IPv6 address, found `{text}`");
            return Err(ScriptError::new(self.line(), message));
        };
        self.at += 1;
        Ok(address)
    }

    /// `[sctp(2)]`: the verification tag of the packet that an ICMP message quotes.
    fn quoted_tag(&mut self) -> Result<u32, ScriptError> {
        self.expect('[')?;
        self.at += 1;
        self.expect('(')?;
        let line = self.line();
        let value = self.value()?;
        let Some(tag) = value.number().and_then(|tag| u32::try_from(tag).ok()) else {
            return Err(ScriptError::new(line, format!("a tag is a number, found {value}")));
        };
        self.expect(')')?;
        self.expect(']')?;
        Ok(tag)
    }

    /// `unreachable frag_needed mtu 1400 [sctp(2)]`, behind `icmp`; the tag may stand before it, too.
    fn icmp(&mut self, mut tag: Option<u32>) -> Result<Icmp, ScriptError> {
        let wrong = |line: usize| move |what: String| ScriptError::new(line, what);
        let line = self.line();
        let Some(Token::Word(word)) = self.next() else {
            return self.wrong("an ICMP type such as `unreachable`");
        };
        let (kind, codes) = icmp::kind(&word).map_err(wrong(line))?;
        let (mut code, mut mtu) = (0, 0);
        if let Some(Token::Word(word)) = self.peek().filter(|token| **token != Token::Word("mtu".into())) {
            code = icmp::code(word, codes).map_err(wrong(self.line()))?;
            self.at += 1;
        }
        if self.peek() == Some(&Token::Word("mtu".into())) {
            self.at += 1;
            let line = self.line();
            let value = self.value()?;
            let number = value.number().and_then(|mtu| u16::try_from(mtu).ok());
            mtu = number
                .ok_or_else(|| ScriptError::new(line, format!("an MTU of 0 to 65535, found {value}")))?;
        }
        if self.peek() == Some(&Token::Mark('[')) && self.peek_second() == Some(&Token::Word("sctp".into())) {
            tag = Some(self.quoted_tag()?);
        }
        Ok(Icmp { kind, code, mtu, tag })
    }

    /// `udp(1234 > 9899)`.
    fn udp_ports(&mut self) -> Result<(u16, u16), ScriptError> {
        let line = self.line();
        if self.next() != Some(Token::Word("udp".to_owned())) {
            return self.wrong("`udp(1234 > 9899)` behind `sctp/`");
        }
        self.expect('(')?;
        let from = self.value()?.number();
        self.expect('>')?;
        let to = self.value()?.number();
        self.expect(')')?;
        let port = |number: Option<i64>| number.and_then(|n| u16::try_from(n).ok()).filter(|port| *port > 0);
        match (port(from), port(to)) {
            (Some(from), Some(to)) => Ok((from, to)),
            _ => Err(ScriptError::new(line, "a UDP port is a number from 1 to 65535")),
        }
    }

    fn packet_options(&mut self, packet: &mut Packet) -> Result<(), ScriptError> {
        loop {
            let line = self.line();
            match self.next() {
                Some(Token::Word(word)) if word == "bad_crc32c" => packet.bad_checksum = true,
                // An older form of the dialect.
                Some(Token::Word(word)) if word == "crc32c" => {
                    self.expect('=')?;
                    let value = self.value()?;
                    if value.to_string() != "bad" {
                        let message = format!("crc32c is `bad`, found {value}");
                        return Err(ScriptError::new(line, message));
                    }
                    packet.bad_checksum = true;
                }
                Some(Token::Word(word)) if word == "zero_crc32c" => packet.zero_checksum = true,
                Some(Token::Word(word)) if word == "tag" => {
                    self.expect('=')?;
                    let value = self.value()?;
                    packet.tag = value.number();
                    if packet.tag.is_none() && !value.is_any() {
                        return Err(ScriptError::new(line, format!("a tag is a number, found {value}")));
                    }
                }
                other => {
                    let found = other.map_or("the end of the script".to_owned(), |token| token.to_string());
                    let message = format!(
                        "sctp(...) takes tag=N, bad_crc32c (or crc32c=bad) and zero_crc32c, found {found}"
                    );
                    return Err(ScriptError::new(line, message));
                }
            }
            if self.mark(')') {
                return Ok(());
            }
            if !self.mark(',') && !self.mark(';') {
                return self.wrong("`,` or `)`");
            }
        }
    }

    fn call(&mut self) -> Result<Call, ScriptError> {
        let Some(Token::Word(name)) = self.next() else { return self.wrong("the name of a call") };
        self.expect('(')?;
        let args: Vec<Value> = self.fields(')')?.into_iter().map(|field| field.value).collect();
        let mut call = Call { name, args, result: None, errno: None };
        if self.mark('=') {
            let result = self.value()?;
            if result == Value::Number(-1) {
                if let Some(Token::Word(word)) = self.peek() {
                    call.errno = Some(word.clone());
                    self.at += 1;
                }
            }
            self.skip_remark();
            call.result = if result.is_any() { None } else { Some(result) };
        }
        Ok(call)
    }

    /// `(Operation now in progress)` behind the name of an error, `(flags O_RDWR)` behind a number.
    fn skip_remark(&mut self) {
        if self.mark('(') {
            while self.peek().is_some() && !self.mark(')') {
                self.at += 1;
            }
        }
    }

    fn value(&mut self) -> Result<Value, ScriptError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ScriptError::new(self.line(), format!("values are nested deeper than {DEEPEST}")));
        }
        let first = self.single()?;
        let value = if self.peek() == Some(&Token::Mark('|')) {
            let mut parts = vec![first];
            while self.mark('|') {
                parts.push(self.single()?);
            }
            Value::Or(parts)
        } else if let (Some(Token::Mark(':')), Some(from)) = (self.peek(), first.number()) {
            self.at += 1;
            let to = self.single()?;
            match to.number() {
                Some(to) => Value::Range(from, to),
                None => return self.wrong("a number behind `:`"),
            }
        } else {
            first
        };
        self.depth -= 1;
        Ok(value)
    }

    fn single(&mut self) -> Result<Value, ScriptError> {
        let line = self.line();
        let Some(token) = self.next() else { return self.wrong("a value") };
        Ok(match token {
            Token::Ellipsis => Value::Any,
            Token::Text(text) => Value::Text(text),
            Token::Number(text) => Value::Number(number(&text, line)?),
            Token::Mark('-') => match self.value()? {
                Value::Number(number) => Value::Number(number.wrapping_neg()),
                _ => return self.wrong("a number behind `-`"),
            },
            Token::Mark('~') => match self.value()?.number() {
                Some(number) => Value::Number(!number),
                None => return self.wrong("a number behind `~`"),
            },
            Token::Mark('[') => Value::List(self.fields(']')?.into_iter().map(|field| field.value).collect()),
            Token::Mark('{') => Value::Record(self.fields('}')?),
            Token::Mark('(') => {
                let inner = self.value()?;
                self.expect(')')?;
                inner
            }
            Token::Word(word) => {
                if self.mark('[') {
                    Value::Node(word, self.fields(']')?)
                } else if self.mark('(') {
                    Value::Call(word, self.fields(')')?.into_iter().map(|field| field.value).collect())
                } else {
                    Value::Word(word)
                }
            }
            other => {
                return Err(ScriptError::new(line, format!("expected a value, found {other}")));
            }
        })
    }

    /// Reads the fields between brackets, up to `end`: values, and values with keys.
    fn fields(&mut self, end: char) -> Result<Vec<Field>, ScriptError> {
        let mut fields = Vec::new();
        if self.mark(end) {
            return Ok(fields);
        }
        loop {
            fields.push(self.field()?);
            if self.mark(end) {
                return Ok(fields);
            }
            if !self.mark(',') {
                return self.wrong(&format!("`,` or `{end}`"));
            }
        }
    }

    fn field(&mut self) -> Result<Field, ScriptError> {
        if let (Some(Token::Word(key)), Some(Token::Mark(mark))) = (self.peek(), self.peek_second()) {
            let key = key.clone();
            if *mark == '=' {
                self.at += 2;
                return Ok(Field { key: Some(key), value: self.value()? });
            }
            // `msg_iov(1)=[...]`: the number is ignored, because the list shows it.
            let counted = matches!(
                self.tokens.get(self.at + 1..self.at + 5),
                Some([(Token::Mark('('), _), _, (Token::Mark(')'), _), (Token::Mark('='), _)])
            );
            if counted {
                self.at += 5;
                return Ok(Field { key: Some(key), value: self.value()? });
            }
        }
        Ok(Field { key: None, value: self.value()? })
    }
}

fn number(text: &str, line: usize) -> Result<i64, ScriptError> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| number as i64),
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| ScriptError::new(line, format!("expected a whole number, found `{text}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Event {
        let mut script = parse(text, &[]).unwrap();
        assert_eq!(script.events.len(), 1);
        script.events.remove(0)
    }

    #[test]
    fn a_packet_of_two_chunks() {
        let event = only("+0.0 > [ect0] sctp(tag=3): SACK[flgs=0, gaps=[2:3], dups=[]]; INIT[tag=1, ...]");
        let Action::Packet(packet) = event.action else { unreachable!() };
        assert!(packet.outbound);
        assert_eq!((packet.tag, packet.ecn.as_deref()), (Some(3), Some("ect0")));
        let Body::Chunks(chunks) = packet.body else { unreachable!() };
        assert_eq!(chunks[0].to_string(), "SACK[flgs=0, gaps=[2:3], dups=[]]");
        assert_eq!(chunks[1].to_string(), "INIT[tag=1, ...]");
    }

    #[test]
    fn addresses_before_the_protocol() {
        let addresses = |text: &str| {
            let Action::Packet(packet) = only(text).action else { unreachable!() };
            packet.addresses.map(|(from, to)| format!("{from} > {to}"))
        };
        for line in [
            "+0.0 < 224.0.0.0 > 192.168.0.1 sctp: COOKIE_ACK[]",
            "+0.0 < [ce] 224.0.0.0 > \"192.168.0.1\" sctp(tag=3): COOKIE_ACK[]",
            "+0.0 < 224.0.0.0 > 192.168.0.1 sctp/udp(1234 > 9899): COOKIE_ACK[]",
        ] {
            assert_eq!(addresses(line).as_deref(), Some("224.0.0.0 > 192.168.0.1"), "{line}");
        }
        let six = addresses("+0.0 > fd3d:a0b:17d6::1 > ::ffff:192.0.2.1 sctp: [1, 2]");
        assert_eq!(six.as_deref(), Some("fd3d:a0b:17d6::1 > ::ffff:192.0.2.1"));
        assert_eq!(addresses("+0.0 < sctp: SACK[gaps=[2:3, 5:5]]"), None);
    }

    #[test]
    fn addresses_that_are_none() {
        for (line, told) in [
            (
                "< 224.0.0.256 > 192.168.0.1 sctp: X[]",
                "expected an IPv4 or IPv6 address, found `224.0.0.256`",
            ),
            ("< 192.0.2.1 > 2001::g sctp: X[]", "expected an IPv4 or IPv6 address, found `2001::g`"),
            ("< \"host\" > 192.168.0.1 sctp: X[]", "expected an IPv4 or IPv6 address, found `host`"),
            (
                "< 192.0.2.1 > ::1 sctp: X[]",
                "both addresses of a packet are of one family, found 192.0.2.1 and ::1",
            ),
            ("< 192.0.2.1 sctp: X[]", "expected `>`, found `sctp`"),
            (
                "< 192.0.2.1 > sctp: X[]",
                "expected an IP address, as in `192.0.2.7 > 192.168.0.1 sctp:`, found `sctp`",
            ),
            (
                "< 192.0.2 > 192.168.0.1 sctp: X[]",
                "expected `sctp`, or addresses such as `192.0.2.7 > 192.168.0.1` before it, found `192.0`",
            ),
            (
                "< 192.0.2.1 > 192.168.0.1 icmp unreachable",
                "an ICMP message goes without addresses; they stand before sctp only",
            ),
        ] {
            let error = parse(&format!("0.0 close(3) = 0\n+0.0 {line}"), &[]).unwrap_err();
            assert_eq!((error.line, error.message.as_str()), (2, told), "{line}");
        }
    }

    #[test]
    fn a_call_that_fails_with_a_remark() {
        let event = only("0.1...0.25 connect(3, ..., {a=htons(7)}) = -1 EINVAL (It isn't so)");
        assert_eq!(event.time, Time::Blocking { relative: false, start: 100_000_000, end: 250_000_000 });
        let Action::Call(call) = event.action else { unreachable!() };
        assert_eq!((call.result, call.errno.as_deref()), (Some(Value::Number(-1)), Some("EINVAL")));
        assert_eq!(call.args[2].number_of("a"), Some(7));
    }

    #[test]
    fn errors_name_the_line_and_what_is_allowed() {
        let error = parse("0.0 close(3) = 0\n+0 > tcp: X[]", &[]).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.message.contains("allowed: sctp"), "{}", error.message);
        let error = parse("0.0 close(3 = 0", &[]).unwrap_err();
        assert_eq!(error.message, "expected `,` or `)`, found `=`");
    }
}
