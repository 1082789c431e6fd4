//! Structures that C and Rust both know.

use std::ffi::c_char;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::memory;
use crate::status::{Failure, Status, guard};

/// An IP address and a UDP port. Without UDP (in DTLS, or right on IP) the port is 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Address {
    /// 4 or 6.
    pub version: u8,
    /// The address in network order: 4 or 16 bytes of it.
    pub bytes: [u8; 16],
    /// UDP port, in the order of the host.
    pub port: u16,
    /// The interface that a link-local address is of, or 0.
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

/// Reads an address from a text such as "192.0.2.1:9899", "[2001:db8::1]:9899", or an IP address alone, whose port is 0. Names are not
/// looked up.
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

/// Writes an address as a text with a zero byte behind it; `needed`, where it is not null, gets the bytes of both.
///
/// # Safety
/// An address can be read at `address`, `room` bytes can be written to `buffer`, and a number to `needed`.
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
    /// The address of its sender.
    pub source: Address,
    /// The local address that it was sent to.
    pub destination: Address,
    /// Code point (upper six bits) and ECN field (lower two), as the IP header has them; 0 where nothing is known.
    pub traffic_class: u8,
}

/// A packet that is to leave.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Transmit {
    /// The address to send to.
    pub destination: Address,
    /// Whether it matters from which of our addresses.
    pub has_source: bool,
    /// From which.
    pub source: Address,
    /// Code point (upper six bits) and ECN field (lower two) for the IP header.
    pub traffic_class: u8,
    /// Nobody on the way may fragment it.
    pub dont_fragment: bool,
    /// Its bytes.
    pub size: usize,
}
