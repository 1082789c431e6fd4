//! Tags and TSNs: a script names them as it likes, the stack draws them. The numbers of the first packet bind the two.

use crate::value::{Field, Value};

/// An incarnation of the stack's side of an association.
#[derive(Clone, Copy, Debug)]
struct Own {
    real_tag: u32,
    script_tag: u32,
    real_tsn: u32,
    script_tsn: u32,
}

/// The map between the tags and TSNs of the script and those of the stack.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    own: Vec<Own>,
    current: usize,
    up: bool,
    /// Tags that the script has chosen, in order.
    peer_tags: Vec<u32>,
    /// The tag of the last COOKIE ECHO of the script.
    echoed: Option<u32>,
}

/// The direction in which a number is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The stack has sent it.
    ToScript,
    /// The script sends it.
    ToStack,
}

impl Identity {
    /// Learns from the stack's real INIT or INIT ACK, and the one that the script expects.
    pub(crate) fn learn(&mut self, expected: Option<&Value>, real: &Value) {
        let (Some(real_tag), Some(real_tsn)) = (real.number_of("tag"), real.number_of("tsn")) else { return };
        let (real_tag, real_tsn) = (real_tag as u32, real_tsn as u32);
        if self.own.iter().any(|own| own.real_tag == real_tag) {
            return;
        }
        let given =
            |key: &str| expected.and_then(|expected| expected.number_of(key)).map(|number| number as u32);
        let script_tag = given("tag").unwrap_or(real_tag);
        let script_tsn = given("tsn").unwrap_or(1);
        self.own.push(Own { real_tag, script_tag, real_tsn, script_tsn });
        // An INIT with another tag begins the handshake anew, also where a COOKIE ECHO has gone before: that was stale.
        if !self.up || matches!(real, Value::Node(name, _) if name == "INIT") {
            self.current = self.own.len() - 1;
        }
    }

    /// A tag of the stack, as the script has it.
    pub(crate) fn script_tag(&self, real: u32) -> Option<u32> {
        self.own.iter().rev().find(|own| own.real_tag == real).map(|own| own.script_tag)
    }

    /// A tag that a script gives: that of the stack which is called so, or the number itself.
    pub(crate) fn real_tag(&self, script: u32) -> u32 {
        self.own.iter().rev().find(|own| own.script_tag == script).map_or(script, |own| own.real_tag)
    }

    /// The stack's own tag now; that of its last INIT or INIT ACK while a handshake goes on.
    pub(crate) fn tag(&self) -> u32 {
        self.own.get(self.current).map_or(0, |own| own.real_tag)
    }

    /// The tag of the stack's last INIT ACK.
    pub(crate) fn newest_tag(&self) -> u32 {
        self.own.last().map_or(0, |own| own.real_tag)
    }

    pub(crate) fn peer_tag(&self) -> u32 {
        self.peer_tags.last().copied().unwrap_or(0)
    }

    pub(crate) fn is_peer_tag(&self, tag: u32) -> bool {
        self.peer_tags.is_empty() || self.peer_tags.contains(&tag)
    }

    /// Chunks that the script has sent, with their verification tag.
    pub(crate) fn sent_by_script(&mut self, chunks: &[Value], tag: u32) {
        for chunk in chunks {
            match chunk {
                Value::Node(name, _) if name == "INIT" || name == "INIT_ACK" => {
                    if let Some(tag) = chunk.number_of("tag") {
                        self.peer_tags.push(tag as u32);
                    }
                }
                Value::Node(name, _) if name == "COOKIE_ECHO" => self.echoed = Some(tag),
                Value::Node(name, _) if name == "ABORT" || name == "SHUTDOWN_COMPLETE" => self.up = false,
                _ => {}
            }
        }
    }

    /// A chunk that the stack has sent.
    pub(crate) fn sent_by_stack(&mut self, name: &str) {
        match name {
            "COOKIE_ECHO" => self.up = true,
            "COOKIE_ACK" => {
                self.up = true;
                if let Some(at) = self.own.iter().rposition(|own| Some(own.real_tag) == self.echoed) {
                    self.current = at;
                }
            }
            "ABORT" | "SHUTDOWN_COMPLETE" => self.up = false,
            _ => {}
        }
    }

    /// A chunk in the other's numbers.
    pub(crate) fn translated(&self, chunk: &Value, way: Way) -> Value {
        let Value::Node(name, fields) = chunk else { return chunk.clone() };
        // A second handshake has a TSN of its own long before the association goes by it.
        let tag = chunk.number_of("tag").map(|tag| tag as u32);
        let of_tag = self.own.iter().rposition(|own| Some(own.real_tag) == tag);
        let own = of_tag.filter(|_| way == Way::ToScript).unwrap_or(self.current);
        let fields = fields.iter().map(|field| self.field(own, name, field, way)).collect();
        Value::Node(name.clone(), fields)
    }

    fn field(&self, own: usize, node: &str, field: &Field, way: Way) -> Field {
        let Some(key) = field.key.as_deref() else {
            return Field::bare(self.translated(&field.value, way));
        };
        let value = if way == Way::ToScript && key == "tag" && matches!(node, "INIT" | "INIT_ACK") {
            let tag = field.value.number().map(|tag| tag as u32).and_then(|tag| self.script_tag(tag));
            tag.map_or_else(|| field.value.clone(), |tag| Value::Number(i64::from(tag)))
        } else if is_own_number(node, key, way) {
            self.shifted(own, &field.value, way)
        } else {
            field.value.clone()
        };
        Field { key: Some(key.to_owned()), value }
    }

    fn shifted(&self, own: usize, value: &Value, way: Way) -> Value {
        if let Value::List(items) = value {
            return Value::List(items.iter().map(|item| self.shifted(own, item, way)).collect());
        }
        let Some(own) = self.own.get(own) else { return value.clone() };
        let Some(number) = value.number() else { return value.clone() };
        let (from, to) = match way {
            Way::ToScript => (own.real_tsn, own.script_tsn),
            Way::ToStack => (own.script_tsn, own.real_tsn),
        };
        Value::Number(i64::from((number as u32).wrapping_sub(from).wrapping_add(to)))
    }
}

/// Whether a number counts the stack's TSNs or its re-configuration requests, which begin with its initial TSN.
fn is_own_number(node: &str, key: &str, way: Way) -> bool {
    match way {
        Way::ToScript => matches!(
            (node, key),
            ("INIT" | "INIT_ACK" | "DATA" | "I_DATA", "tsn")
                | ("FORWARD_TSN" | "I_FORWARD_TSN", "cum_tsn")
                | ("CWR", "lowest_tsn")
                | ("OUTGOING_SSN_RESET", "last_tsn")
                | ("RECONFIG_RESPONSE", "sender_next_tsn")
                | (
                    "OUTGOING_SSN_RESET"
                        | "INCOMING_SSN_RESET"
                        | "SSN_TSN_RESET"
                        | "ADD_OUTGOING_STREAMS"
                        | "ADD_INCOMING_STREAMS",
                    "req_sn"
                )
        ),
        Way::ToStack => matches!(
            (node, key),
            ("SACK" | "NR_SACK" | "SHUTDOWN", "cum_tsn")
                | ("SACK" | "NR_SACK", "dups")
                | ("ECNE", "lowest_tsn")
                | ("OUTGOING_SSN_RESET" | "RECONFIG_RESPONSE", "resp_sn")
                | ("RECONFIG_RESPONSE", "receiver_next_tsn")
                | ("NO_USER_DATA", "tsn")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(tag: i64, tsn: i64) -> Value {
        Value::Node(
            "INIT".to_owned(),
            vec![Field::keyed("tag", Value::Number(tag)), Field::keyed("tsn", Value::Number(tsn))],
        )
    }

    #[test]
    fn the_first_packet_binds_and_numbers_wrap() {
        let mut identity = Identity::default();
        identity.learn(Some(&init(1, 1)), &init(0x1234, 0xffff_ffff));
        assert_eq!(identity.translated(&init(0x1234, 0xffff_ffff), Way::ToScript), init(1, 1));
        let sack = |tsn| Value::Node("SACK".to_owned(), vec![Field::keyed("cum_tsn", Value::Number(tsn))]);
        assert_eq!(identity.translated(&sack(3), Way::ToStack), sack(1));
        assert_eq!((identity.tag(), identity.real_tag(1), identity.real_tag(9)), (0x1234, 0x1234, 9));
        // The cookie was stale: the next attempt has another tag.
        identity.sent_by_stack("COOKIE_ECHO");
        identity.learn(Some(&init(1, 1)), &init(0x5678, 0xffff_ffff));
        assert_eq!((identity.tag(), identity.real_tag(1)), (0x5678, 0x5678));
    }
}
