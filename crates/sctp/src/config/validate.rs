//! Checks that the values of a configuration are allowed, and fit each other.

use anabranch_base::Duration;

use super::error::ConfigError;
use super::key::KEYS;
use super::{Algorithm, Config, EcnMode};

impl Config {
    /// Checks that every value is one that [`Config::set`] would take, and that the values fit each other.
    /// [`Endpoint::connect`] and [`Endpoint::listen`] call it: fields can be set to anything.
    ///
    /// ```
    /// # use anabranch_sctp::{Config, Duration};
    /// let config = Config::rfc9260().with(|c| c.sack.delay = Duration::from_secs(1));
    /// let error = config.validate().unwrap_err().to_string();
    /// assert!(error.starts_with("SCTP option `sack_delay`: `1000 ms` is not allowed; expected a time of 0 ms to 500 ms"));
    /// ```
    ///
    /// # Errors
    /// The first value that is not allowed, by its flat name, or the values that do not fit each other.
    ///
    /// [`Endpoint::connect`]: crate::Endpoint::connect
    /// [`Endpoint::listen`]: crate::Endpoint::listen
    pub fn validate(&self) -> Result<(), ConfigError> {
        let mut taken = self.clone();
        for key in KEYS.iter() {
            if key.copy(&mut taken, self).is_none() {
                let value = key.value(self);
                return Err(ConfigError::BadValue { key: key.name, value, expected: key.expected });
            }
        }
        self.check_fit()
    }

    /// Checks that the values, each of which is allowed, fit each other.
    pub(super) fn check_fit(&self) -> Result<(), ConfigError> {
        self.misfit().map_or(Ok(()), |what| Err(ConfigError::Misfit { what }))
    }

    /// The first misfit, as a sentence.
    fn misfit(&self) -> Option<String> {
        let least = |name: &str, value: u64, least: u64| {
            (value < least).then(|| format!("`{name}` is {value}: {least} is the least"))
        };
        let timers = &self.timers;
        least("mtu", self.mtu.into(), 576)
            .or_else(|| least("mtu_base", self.path_mtu.base.into(), 576))
            .or_else(|| {
                least("fast_retransmit_threshold", self.congestion.fast_retransmit_threshold.into(), 1)
            })
            // "The Advertised Receiver Window Credit MUST NOT be smaller than 1500" (3.3.3): no peer would take it.
            .or_else(|| {
                let text = least("receive_window", self.limits.receive_window.into(), 1500)?;
                Some(text + " (RFC 9260, 3.3.3)")
            })
            .or_else(|| least("outbound_streams", self.streams.outbound.into(), 1))
            .or_else(|| least("inbound_streams", self.streams.inbound.into(), 1))
            .or_else(|| {
                let times = [
                    ("rto_initial", timers.rto_initial),
                    ("rto_max", timers.rto_max),
                    ("valid_cookie_life", timers.valid_cookie_life),
                ];
                let zero = times.into_iter().find(|(_, time)| *time == Duration::ZERO);
                zero.map(|(name, _)| format!("`{name}` is 0: it must be longer"))
            })
            .or_else(|| {
                let light = self.subflows.open.iter().position(|spec| spec.weight == 0)?;
                Some(format!("the weight of subflow {light} is 0: 1 is the least"))
            })
            .or_else(|| least("send_buffer", self.limits.send_buffer as u64, 1))
            .or_else(|| least("max_message", self.limits.max_message as u64, 1))
            .or_else(|| {
                let (point, window) =
                    (self.limits.partial_delivery_bytes, u64::from(self.limits.receive_window));
                (point as u64 > window).then(|| {
                    format!("`partial_delivery_bytes` is {point}, more than `receive_window`, {window}")
                })
            })
            .or_else(|| {
                let (min, max) = (timers.rto_min, timers.rto_max);
                (min > max).then(|| format!("`rto_min` is {min}, longer than `rto_max`, {max}"))
            })
            .or_else(|| {
                let overhead = self.ip_overhead;
                (overhead > 120).then(|| format!("`ip_overhead` is {overhead}: 120 is the most"))
            })
            .or_else(|| {
                let (control, coupling) = (&self.congestion.control, &self.subflows.coupling);
                let text = "goes with `coupling` independent or shared only";
                (!self.controller_fits_coupling())
                    .then(|| format!("`congestion_control` {control} {text}, not with {coupling}"))
            })
            // RFC 9331, 4.3: a sender of ECT(1) must respond to marks as scalable controllers do; the model of BBR
            // does not.
            .or_else(|| {
                let model = self.congestion.control.algorithm == Algorithm::Bbr;
                let l4s = self.extensions.ecn == EcnMode::L4s;
                (l4s && model).then(|| "`ecn` l4s does not go with `congestion_control` bbr".to_owned())
            })
    }
}
