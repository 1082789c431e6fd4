//! A script that was read.

use std::net::IpAddr;

use crate::value::Value;

/// A whole script.
#[derive(Clone, Debug)]
pub struct Script {
    /// Line, name, value of each `--name=value` line.
    pub options: Vec<(usize, String, String)>,
    /// The timed lines of the script, in order.
    pub events: Vec<Event>,
}

/// One timed line.
#[derive(Clone, Debug)]
pub struct Event {
    /// Line of the file, from 1.
    pub line: usize,
    /// Its time.
    pub time: Time,
    /// Its action.
    pub action: Action,
}

/// When something happens, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// `0.5`: since the start.
    At(u64),
    /// `+0.5`: since the event before.
    After(u64),
    /// `*`: whenever it comes.
    Any,
    /// `0.1~0.3`.
    Between(u64, u64),
    /// `+0.1~+0.3`: since the event before.
    AfterBetween(u64, u64),
    /// `0.0...0.5`: a call that begins and, at the second time, ends.
    Blocking {
        /// Whether both count from the event before.
        relative: bool,
        /// When it begins.
        start: u64,
        /// When it returns.
        end: u64,
    },
}

/// The action of a timed line.
#[derive(Clone, Debug)]
pub enum Action {
    /// A call of the sockets interface.
    Call(Call),
    /// A packet.
    Packet(Packet),
    /// The command between backquotes.
    Shell(String),
}

/// `name(args) = result`.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Value>,
    /// The value that it must return; `None`: any value will do.
    pub result: Option<Value>,
    /// The name of the error that must come with -1.
    pub errno: Option<String>,
}

/// `> sctp: ...` or `< sctp: ...`.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Whether the stack must send it; else the script sends it.
    pub outbound: bool,
    /// The ECN mark before the protocol: `ect0`, `ect1`, `ce`, `noecn`.
    pub ecn: Option<String>,
    /// `192.0.2.7 > 192.168.0.1` before the protocol: where it comes from and goes to, of one family.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// `sctp(tag=3)`.
    pub tag: Option<i64>,
    /// `sctp(bad_crc32c)`.
    pub bad_checksum: bool,
    /// `sctp(zero_crc32c)`: a checksum of zero.
    pub zero_checksum: bool,
    /// `sctp/udp(1234 > 9899)`: the UDP ports that it comes from and goes to (RFC 6951).
    pub udp: Option<(u16, u16)>,
    /// The content behind the protocol.
    pub body: Body,
}

/// The content of a packet.
#[derive(Clone, Debug)]
pub enum Body {
    /// Chunks by name.
    Chunks(Vec<Value>),
    /// All bytes behind the common header, as a list; in packets that the stack must send it may have `...`.
    Raw(Value),
    /// `icmp unreachable frag_needed mtu 1400 [sctp(2)]`: about a packet of the stack.
    Icmp(Icmp),
}

/// An ICMP message that quotes a packet of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Its type (RFC 792).
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// `mtu 1400`: that of the next link, bytes.
    pub mtu: u16,
    /// `[sctp(2)]`: the verification tag of the packet that it quotes; else that of the last packet of the stack.
    pub tag: Option<u32>,
}

impl std::fmt::Display for Icmp {
    /// As error messages tell of it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ICMP of type {}, code {}", self.kind, self.code)?;
        if self.mtu > 0 {
            write!(f, ", mtu {}", self.mtu)?;
        }
        self.tag.map_or(Ok(()), |tag| write!(f, ", about a packet with tag {tag}"))
    }
}
