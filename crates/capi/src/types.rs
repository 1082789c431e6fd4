//! Structures that C and Rust share.

use std::ffi::c_char;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::memory;
use crate::status::{Failure, Status, guard};

/// An IP address and a UDP port. Without UDP (SCTP within DTLS, or directly on IP) the port is 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Address {
    /// The IP version: 4 or 6.
    pub version: u8,
    /// The address in network byte order: the first 4 bytes for IPv4, all 16 for IPv6.
    pub bytes: [u8; 16],
    /// The UDP port in host byte order.
    pub port: u16,
    /// The index of the interface of a link-local IPv6 address; 0 for other addresses.
    pub scope: u32,
}

impl Address {
    pub(crate) fn get(&self) -> Result<SocketAddr, Failure> {
        let [a, b, c, d, ..] = self.bytes;
        match self.version {
            4 => Ok((Ipv4Addr::new(a, b, c, d), self.port).into()),
            6 => Ok(SocketAddrV6::new(Ipv6Addr::from(self.bytes), self.port, 0, self.scope).into()),
            other => Err(Failure::argument(format!("an address has version 4 or 6, not {other}"))),
        }
    }

    pub(crate) fn of(address: SocketAddr) -> Self {
        let mut bytes = [0; 16];
        let (version, scope) = match address {
            SocketAddr::V4(v4) => {
                bytes.iter_mut().zip(v4.ip().octets()).for_each(|(to, byte)| *to = byte);
                (4, 0)
            }
            SocketAddr::V6(v6) => {
                bytes = v6.ip().octets();
                (6, v6.scope_id())
            }
        };
        Self { version, bytes, port: address.port(), scope }
    }
}

/// Parses a text such as "192.0.2.1:9899" or "[2001:db8::1]:9899", and writes the result to `address`. The port of an IP address
/// alone is 0. Host names are not looked up: another text gives ERROR_ARGUMENT.
///
/// # Safety
/// `text` ends with a zero byte; an address can be written to `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_address_parse(text: *const c_char, address: *mut Address) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let text = unsafe { memory::text(text, "text")? };
        let parsed = text.parse::<SocketAddr>().or_else(|_| text.parse::<IpAddr>().map(|ip| (ip, 0).into()));
        let parsed = parsed.map_err(|_| {
            Failure::argument(format!("`{text}` is no address: write 192.0.2.1:9899 or [2001:db8::1]:9899"))
        })?;
        // SAFETY: as the caller says.
        unsafe { memory::write(address, Address::of(parsed), "address")? };
        Ok(Status::Ok)
    })
}

/// Writes an address to `buffer`, as text with a zero byte at its end. `needed`, which may be null, gets the size of both in bytes.
/// If `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
///
/// # Safety
/// An address can be read at `address`; `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_address_text(
    address: *const Address,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let address = unsafe { memory::read(address, "address")? };
        let text = address.get()?.to_string();
        // SAFETY: as the caller says.
        unsafe { memory::copy_text(&text, buffer, room, needed) }
    })
}

/// The addresses and IP fields of a received packet.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Meta {
    /// The address of the packet's sender.
    pub source: Address,
    /// The local address to which the packet was sent.
    pub destination: Address,
    /// The traffic class of the IP header: code point (upper six bits) and ECN field (lower two); 0 if unknown.
    pub traffic_class: u8,
}

/// A packet for the program to send.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Transmit {
    /// The address to send to.
    pub destination: Address,
    /// True if the packet must leave from the address `source`; false if any of our addresses will do.
    pub has_source: bool,
    /// The local address to send from, if `has_source` is true.
    pub source: Address,
    /// The traffic class for the IP header: code point (upper six bits) and ECN field (lower two).
    pub traffic_class: u8,
    /// True if routers must not fragment the packet.
    pub dont_fragment: bool,
    /// The size of the packet in bytes.
    pub size: usize,
}
