//! The addresses of the peer, and the use of each.

use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Duration, Instant, Meta, TraceEvent, cold_path};

use super::Path;
use crate::address::MAX_PEER_ADDRESSES;
use crate::config::Config;
use crate::error::PathError;
use crate::event::Event;
use crate::ids::{PathId, Table};

/// The paths of an association. There always is one, that of the handshake; as long as no other is chosen it is the primary one (RFC 9260,
/// 2.3): chunks that belong to no other path leave there.
#[derive(Debug)]
pub(crate) struct Paths {
    table: Table<PathId, Path>,
    /// Association error counter: errors in a row to all addresses together (8.1).
    errors: u32,
    primary: PathId,
    /// Addresses that the peer has listed, from which it may write besides those of its paths.
    listed: Vec<IpAddr>,
}

impl Paths {
    /// A table with the path of the handshake only.
    pub(crate) fn new(path: Path) -> Self {
        Self { table: Table::of(path), errors: 0, primary: PathId::new(0), listed: Vec::new() }
    }

    /// The path of a control chunk that answers nothing, and of no path in particular: INIT, COOKIE ECHO, SHUTDOWN, ABORT.
    #[inline]
    pub(crate) fn for_control(&self) -> PathId {
        self.primary_or_alternate()
    }

    /// The path of data that was placed nowhere else.
    #[inline]
    pub(crate) fn for_data(&self) -> PathId {
        self.primary_or_alternate()
    }

    /// The primary path; while that is down, another one that works.
    // rfc9260:6.4-1 rfc9260:6.4.1-1
    #[inline]
    fn primary_or_alternate(&self) -> PathId {
        if self.table.len() == 1 || self.is_active(self.primary) {
            return self.primary;
        }
        cold_path();
        self.alternate(self.primary).unwrap_or(self.primary)
    }

    /// Another path than `of` on which the peer is known to be and answers: that with the fewest errors, and rather the primary one.
    // rfc9260:8.2-4
    pub(crate) fn alternate(&self, of: PathId) -> Option<PathId> {
        let works = |path: &Path| path.is_confirmed() && path.reachability.is_active();
        let others = self.table.iter().filter(|(id, path)| *id != of && works(path));
        let best = others.min_by_key(|(id, path)| (path.reachability.errors(), *id != self.primary));
        best.map(|(id, _)| id)
    }

    /// The primary path, where `used` takes its place.
    pub(crate) fn left_for(&self, used: PathId) -> Option<PathId> {
        (used != self.primary).then_some(self.primary)
    }

    /// Whether a path answers, as far as is known.
    pub(crate) fn is_active(&self, id: PathId) -> bool {
        self.table.get(id).is_some_and(|path| path.reachability.is_active())
    }

    /// The path on which a packet is answered: that of its source address, if that is confirmed, or the primary one. Answers
    /// leave from where it came to.
    // rfc9260:6.4-2
    #[inline]
    pub(crate) fn for_reply(&mut self, config: &Config, meta: &Meta) -> PathId {
        let id = match self.table.rows() {
            [_] => self.primary,
            _ => {
                cold_path();
                match self.find(meta.source.ip()) {
                    Some(id) => id,
                    None => return self.primary,
                }
            }
        };
        let primary = self.primary;
        let Some(path) = self.table.get_mut(id) else { return primary };
        path.heard_at(meta.destination);
        let at = if path.is_confirmed() { id } else { primary };
        if path.remote().port() != meta.source.port() {
            note_port(config, path, meta.source);
        }
        at
    }

    /// Another path is the primary one from now on. Returns the one before.
    pub(crate) fn set_primary(&mut self, id: PathId) -> PathId {
        std::mem::replace(&mut self.primary, id)
    }

    /// True if it is the primary path.
    #[inline]
    pub(crate) fn is_primary(&self, id: PathId) -> bool {
        id == self.primary
    }

    /// The primary path.
    #[inline]
    pub(crate) fn primary(&self) -> Option<&Path> {
        self.table.get(self.primary)
    }

    /// The primary path, to be changed.
    #[inline]
    pub(crate) fn primary_mut(&mut self) -> Option<&mut Path> {
        self.table.get_mut(self.primary)
    }

    /// Number of paths.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// A path.
    #[inline]
    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.table.get(id)
    }

    /// A path, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.table.get_mut(id)
    }

    /// All paths, in the order of their numbers.
    #[inline]
    pub(crate) fn rows(&self) -> &[Path] {
        self.table.rows()
    }

    /// All paths, to be changed.
    #[inline]
    pub(crate) fn rows_mut(&mut self) -> &mut [Path] {
        self.table.rows_mut()
    }

    /// All paths with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PathId, &Path)> {
        self.table.iter()
    }

    /// The numbers of all paths. They borrow nothing: paths may change meanwhile.
    #[inline]
    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        self.table.ids()
    }

    /// The numbers of all paths but the primary one.
    pub(crate) fn others(&self) -> impl Iterator<Item = PathId> + use<> {
        let primary = self.primary;
        self.table.ids().filter(move |id| *id != primary)
    }

    /// Shows every path: as a rule there is only one, and then there is no loop.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the table of timers is its only caller; measured")]
    pub(crate) fn for_each(&self, see: impl FnMut(PathId, &Path)) {
        self.table.for_each(see);
    }

    /// The path to an address, confirmed or not.
    #[inline(never)]
    pub(crate) fn find(&self, address: IpAddr) -> Option<PathId> {
        self.table.iter().find(|(_, path)| path.has_address(address)).map(|(id, _)| id)
    }

    /// The path to an address that the user names.
    ///
    /// # Errors
    /// When the peer has no such address.
    pub(crate) fn known(&self, address: IpAddr) -> Result<PathId, PathError> {
        self.find(address).ok_or_else(|| {
            let known = self.rows().iter().map(|path| path.remote().ip()).collect();
            PathError::Unknown { address, known }
        })
    }

    /// The path to an address that the user names, and that is the peer's for sure.
    ///
    /// # Errors
    /// When the peer has no such address, or may not have it.
    pub(crate) fn confirmed(&self, address: IpAddr) -> Result<PathId, PathError> {
        let id = self.known(address)?;
        let confirmed = self.get(id).is_some_and(Path::is_confirmed);
        if confirmed { Ok(id) } else { Err(PathError::NotConfirmed(address)) }
    }

    /// Addresses that are CONFIRMED (5.4): our user named them, the handshake went there, or a HEARTBEAT came back.
    /// Addresses that an INIT only claims are left out: with them a host could occupy the address of another (RFC
    /// 5062, address camping).
    pub(crate) fn confirmed_addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.rows().iter().filter(|path| path.is_confirmed()).map(|path| path.remote().ip())
    }

    /// True if packets from an address may belong to the association: the address of a confirmed path, or one that
    /// the peer has listed.
    #[inline]
    pub(crate) fn knows(&self, address: IpAddr) -> bool {
        // As a rule it is that of the first path.
        let first = self.primary().is_some_and(|path| path.has_address(address) && path.is_confirmed());
        first || self.knows_other(address)
    }

    #[inline(never)]
    fn knows_other(&self, address: IpAddr) -> bool {
        self.confirmed_addresses().any(|confirmed| confirmed == address) || self.listed.contains(&address)
    }

    /// The peer lists addresses, in place of those of before.
    pub(crate) fn list_anew(&mut self, addresses: &[IpAddr]) {
        self.listed.clear();
        for address in addresses {
            if !self.knows(*address) {
                self.listed.push(*address);
            }
        }
    }

    /// The peer lists further addresses; more than any may have are left out.
    pub(crate) fn list(&mut self, addresses: &[IpAddr]) {
        for address in addresses {
            if !self.knows(*address) && self.listed.len() + 1 < MAX_PEER_ADDRESSES {
                self.listed.push(*address);
            }
        }
    }

    /// A COOKIE ECHO came from `source`. Where the INIT ACK went elsewhere, that proves nothing: the holder of a
    /// cookie may send it from any address that its INIT listed. So a HEARTBEAT asks that address once the
    /// association is up (5.4).
    // rfc9260:5.1.2-5 rfc9260:5.4-1
    pub(crate) fn probe_unconfirmed(&mut self, config: &Config, source: SocketAddr) {
        if self.len() == 1 && !self.confirmed_addresses().any(|confirmed| confirmed == source.ip()) {
            self.add(Path::unconfirmed(config, source));
        }
    }

    /// Another path.
    pub(crate) fn add(&mut self, path: Path) -> PathId {
        self.table.push(path)
    }

    /// Forgets all paths but that of the handshake.
    pub(crate) fn forget_others(&mut self) {
        self.table.split_off_first();
        self.primary = PathId::new(0);
    }

    /// The RTO of a path.
    pub(crate) fn rto(&self, config: &Config, id: PathId) -> Duration {
        self.table.get(id).map_or(config.timers.rto_initial, |path| path.rtt().rto())
    }

    /// A round trip of a HEARTBEAT. The estimate that follows, for the trace.
    // rfc9260:8.3-12
    pub(crate) fn sample(&mut self, id: PathId, sample: Duration) -> Option<TraceEvent> {
        let rtt = self.table.get_mut(id)?.rtt_mut();
        rtt.sample(sample);
        Some(TraceEvent::Rtt { sample, srtt: rtt.srtt().unwrap_or_default(), rto: rtt.rto() })
    }

    /// True if a T3-rtx that ran for `waited` is an error of its path that was not counted yet.
    pub(crate) fn is_another_error(
        &mut self,
        now: Instant,
        id: PathId,
        waited: Duration,
        several: bool,
    ) -> bool {
        self.table.get_mut(id).is_none_or(|path| path.reachability.is_another_error(now, waited, several))
    }

    /// Errors in a row, of all paths together (8.1).
    #[inline]
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }

    /// The peer has answered: its errors are counted from 0 again (8.1).
    #[inline]
    pub(crate) fn clear_errors(&mut self) {
        self.errors = 0;
    }

    /// A chunk that last left on a path was not answered in time: both counters rise, that of the association (8.1) and that of the path
    /// (8.2). An event for the user, where the path goes down with it.
    pub(crate) fn on_error(&mut self, config: &Config, id: PathId) -> Option<Event> {
        self.errors += 1;
        let path = self.table.get_mut(id)?;
        path.reachability
            .count_error(config.limits.path_max_retrans)
            .then(|| Event::PathDown { path: id.get() })
    }

    /// Something proves that a path works. An event for the user, where it was down.
    pub(crate) fn on_answer(&mut self, id: PathId) -> Option<Event> {
        let path = self.table.get_mut(id)?;
        path.reachability.clear_errors().then(|| Event::PathUp { path: id.get() })
    }
}

/// A packet with our tag came from another UDP port. The port of an address that the peer only listed is none of the
/// path's.
// rfc6951:5.4-1
#[cold]
fn note_port(config: &Config, path: &mut Path, source: SocketAddr) {
    if path.has_address(source.ip()) {
        path.move_port(config, source.port());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{Dscp, Ecn};

    const NEAR: ([u8; 4], u16) = ([10, 0, 0, 2], 9899);
    const FAR: ([u8; 4], u16) = ([10, 0, 1, 2], 9899);
    const OURS: ([u8; 4], u16) = ([10, 0, 0, 1], 9899);

    fn from(source: ([u8; 4], u16)) -> Meta {
        Meta { source: source.into(), destination: OURS.into(), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct }
    }

    /// A packet is answered where it came from if the peer is known to be there, and on the primary path otherwise.
    #[test]
    fn answers_go_to_confirmed_sources_only() {
        let config = Config::rfc9260();
        let mut paths = Paths::new(Path::new(&config, NEAR.into()));
        let near = paths.for_control();
        assert_eq!(paths.for_reply(&config, &from(FAR)), near, "with one path there is no other");
        let far = paths.add(Path::unconfirmed(&config, FAR.into()));
        assert_eq!(paths.for_reply(&config, &from(FAR)), near, "not confirmed");
        paths.get_mut(far).unwrap().confirm();
        assert_eq!(paths.for_reply(&config, &from(FAR)), far);
        assert_eq!(
            paths.for_reply(&config, &from(([10, 9, 9, 9], 9899))),
            near,
            "an address that is none of its paths"
        );
        assert_eq!(paths.get(far).unwrap().local(), Some(OURS.into()));
        let moved = (FAR.0, 1234);
        assert_eq!(paths.for_reply(&config, &from(moved)), far);
        assert_eq!(paths.get(far).unwrap().remote(), moved.into(), "another UDP port");
        assert_eq!(paths.others().collect::<Vec<_>>(), [far]);
        paths.forget_others();
        assert_eq!((paths.len(), paths.for_control()), (1, near));
    }

    /// Control and data leave on the primary path, and on another one while that is down.
    // rfc9260:8.2-4
    #[test]
    fn another_path_takes_the_place_of_one_that_is_down() {
        let config = Config::rfc9260().with(|c| c.limits.path_max_retrans = 1);
        let mut paths = Paths::new(Path::new(&config, NEAR.into()));
        let near = paths.for_control();
        assert_eq!(paths.alternate(near), None);
        let far = paths.add(Path::new(&config, FAR.into()));
        let listed = paths.add(Path::unconfirmed(&config, ([10, 0, 2, 2], 9899).into()));
        assert_eq!((paths.alternate(near), paths.alternate(far)), (Some(far), Some(near)));
        assert_eq!(paths.alternate(listed), Some(near));
        assert_eq!(paths.on_error(&config, near), None);
        assert_eq!(paths.alternate(listed), Some(far), "fewer errors");
        assert_eq!((paths.for_control(), paths.for_data()), (near, near), "it has not failed yet");
        assert_eq!(paths.left_for(paths.for_data()), None);
        assert!(paths.on_error(&config, near).is_some());
        assert_eq!(paths.left_for(paths.for_data()), Some(near));
        assert_eq!((paths.for_control(), paths.for_data(), paths.alternate(far)), (far, far, None));
        assert!(paths.get_mut(listed).unwrap().confirm());
        assert_eq!((paths.for_control(), paths.for_data()), (far, far), "one of the two that work");
        assert_eq!(paths.on_error(&config, far), None);
        assert_eq!(paths.for_data(), listed, "fewer errors");
        assert!(paths.on_error(&config, far).is_some() && paths.on_error(&config, listed).is_none());
        assert!(paths.on_error(&config, listed).is_some());
        assert_eq!(paths.for_control(), near, "where none works, the primary one");
        assert!(paths.on_answer(near).is_some() && paths.on_answer(far).is_some());
        assert_eq!(paths.set_primary(far), near);
        assert_eq!((paths.for_control(), paths.for_data()), (far, far));
    }

    /// The user hears of a path that goes down, once, and of one that works again.
    #[test]
    fn errors_of_a_path_are_its_own() {
        let config = Config::rfc9260().with(|c| c.limits.path_max_retrans = 1);
        let mut paths = Paths::new(Path::new(&config, NEAR.into()));
        let far = paths.add(Path::new(&config, FAR.into()));
        assert_eq!(paths.on_error(&config, far), None);
        assert_eq!(paths.on_error(&config, far), Some(Event::PathDown { path: 1 }));
        assert_eq!(paths.on_error(&config, far), None, "it is down already");
        assert!(paths.primary().unwrap().reachability().is_active());
        assert_eq!(paths.on_answer(far), Some(Event::PathUp { path: 1 }));
        assert_eq!(paths.on_answer(far), None);
    }
}
