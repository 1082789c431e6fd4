//! The objects of a connection, stream by stream.

use anabranch_base::Instant;

use crate::scenario::{Connection, Flow, Traffic};

/// An object on its way, as one of the two ends sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    /// Its number in the whole list, from 0.
    pub(crate) index: usize,
    /// Bytes in all.
    pub(crate) size: u64,
    /// Bytes still to be handed over (server) or to come (client).
    pub(super) left: u64,
    /// When the client had its first byte.
    pub(crate) first_byte_at: Option<Instant>,
    /// When the client had its last byte.
    pub(crate) complete_at: Option<Instant>,
}

/// The objects that one stream carries.
#[derive(Debug, Default)]
pub(super) struct StreamObjects {
    /// In the order in which the stream carries them.
    pub(super) objects: Vec<Object>,
    /// Number of objects that are done.
    pub(super) done: usize,
    /// Bytes so far.
    pub(super) position: u64,
}

impl StreamObjects {
    /// The first object that is not done.
    pub(super) fn current(&mut self) -> Option<&mut Object> {
        self.objects.get_mut(self.done)
    }
}

/// The objects of a connection over its streams: the first to the first stream, and so on in turn.
pub(super) fn streams_of(flow: &Flow) -> Vec<StreamObjects> {
    let count = usize::from(flow.streams.max(1));
    let mut streams: Vec<StreamObjects> = (0..count).map(|_| StreamObjects::default()).collect();
    let Traffic::Objects(connection) = &flow.traffic else { return streams };
    for (place, (index, size)) in connection.own().enumerate() {
        let object = Object { index, size, left: size, first_byte_at: None, complete_at: None };
        if let Some(stream) = streams.get_mut(place % count) {
            stream.objects.push(object);
        }
    }
    streams
}

/// The part of a flow's connection in a list of objects, if its traffic is objects.
pub(super) fn connection_of(flow: &Flow) -> Option<&Connection> {
    match &flow.traffic {
        Traffic::Objects(connection) => Some(connection),
        _ => None,
    }
}
