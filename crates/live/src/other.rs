//! Where the system is not Linux: packets leave without a code point, none is fragmented, and ICMP is not heard.

use std::io;
use std::net::IpAddr;

use anabranch_base::Transmit;

use crate::packets::QueuedError;

pub(super) fn keep_errors<S>(_: &S, _: bool) -> io::Result<()> {
    Ok(())
}

pub(super) fn let_fragment<S>(_: &S, _: bool, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn send_marked<S>(_: &S, _: &Transmit, _: &[u8], _: Option<IpAddr>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn take_ports<S>(_: &S, _: bool, _: Option<&[u16]>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn share_address<S>(_: &S) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn hand_out_by_tag<S>(_: &S, _: bool, _: u16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn take_error<S>(_: &S, _: &mut [u8]) -> Option<QueuedError> {
    None
}

pub(super) fn is_too_big(_: &io::Error) -> bool {
    false
}

pub(super) fn may_be_offload(_: &io::Error) -> bool {
    true
}

pub(super) fn is_of_earlier(_: &io::Error) -> bool {
    false
}
