//! Owners that a procedure of an association works on, for tests of one procedure.

use std::sync::Arc;

use anabranch_wire::Tsn;

use crate::config::Config;
use crate::context::Context;
use crate::control::Control;
use crate::path::Path;
use crate::receiver::Receiver;
use crate::scope::Scope;
use crate::sender::Sender;
use crate::state::State;

/// Owners of an association whose error counter is 3.
pub(super) struct Owners {
    pub(super) cx: Context,
    sender: Sender,
    receiver: Receiver,
    control: Control,
}

impl Owners {
    /// Nothing was sent or received yet.
    pub(super) fn new() -> Self {
        let config = Config::rfc9260();
        let path = Path::new(&config, ([10, 0, 0, 1], 0).into());
        let rng = anabranch_base::Rng::stream(1, "test", "owners").secret();
        let mut cx = Context::new(0, Arc::new(config), path, rng);
        let sender = Sender::new(&mut cx, Tsn::new(1));
        let control = Control::new(cx.paths.for_control());
        for _ in 0..3 {
            let _down = cx.paths.on_error(cx.env.config(), cx.paths.for_control());
        }
        Self { cx, sender, receiver: Receiver::new(&Config::rfc9260()), control }
    }

    /// The handshake is over.
    pub(super) fn up() -> Self {
        let mut owners = Self::new();
        owners.cx.env.enter(State::Established);
        owners.receiver.learn_peer(Tsn::new(1));
        owners
    }

    /// Lends them.
    pub(super) fn scope(&mut self) -> Scope<'_> {
        let Self { cx, sender, receiver, control } = self;
        Scope { cx, sender, receiver, control }
    }
}
