//! On systems other than Linux a process cannot claim a port of IP protocol 132.

use std::io;
use std::net::IpAddr;

#[derive(Debug, Default)]
pub(crate) struct Claims;

impl Claims {
    pub(crate) fn claim(&mut self, _: &[IpAddr], _: u16) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + '_ {
        std::iter::empty()
    }

    pub(crate) fn has(&self, _: u16) -> bool {
        false
    }
}

pub(crate) fn is_claimed(_: IpAddr, _: u16) -> bool {
    true
}

#[derive(Debug)]
pub(crate) struct Ownership;

impl Ownership {
    pub(crate) fn of(_: IpAddr) -> Self {
        Self
    }

    pub(crate) fn try_again(&mut self) -> bool {
        false
    }

    pub(crate) fn is_ours(&self) -> bool {
        false
    }
}
