//! Configurations of associations.

use std::ffi::c_char;
use std::sync::{Arc, Mutex};

use anabranch_sctp::Config as Values;

use crate::memory;
use crate::status::{Failure, Status, guard};
use crate::table::Table;

/// The options of associations, with the keys and values of the command line's `--set`. A call that takes a configuration
/// copies it: a later change affects only later calls.
pub struct Config {
    _name: [u8; 0],
}

static CONFIGS: Table<Mutex<Values>> = Table::new(1, "an anabranch_config");

/// The values of a configuration; the result of `otherwise` if `config` is null.
pub(crate) fn values(config: *const Config, otherwise: fn() -> Values) -> Result<Arc<Values>, Failure> {
    if config.is_null() {
        return Ok(Arc::new(otherwise()));
    }
    let config = CONFIGS.get(config.addr())?;
    let values = config.lock().map_err(|_| Failure::internal())?;
    Ok(Arc::new(values.clone()))
}

/// Makes a configuration, and writes its handle to `config`; free it with `anabranch_config_free`. `profile` is the name of a
/// profile ("modern", "rfc9260", ...; `anabranch engines` lists all), or null for the configuration for networks: "modern" with probes
/// of the path MTU and partial reliability. For data channels of WebRTC call `anabranch_config_for_webrtc` next. An unknown
/// profile gives ERROR_OPTION.
///
/// # Safety
/// `profile` is null or ends with a zero byte; a pointer can be written to `config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_config_new(profile: *const c_char, config: *mut *mut Config) -> Status {
    guard(|| {
        let values = if profile.is_null() {
            Values::for_networks()
        } else {
            // SAFETY: as the caller says.
            let name = unsafe { memory::text(profile, "profile")? };
            Values::named(name).ok_or_else(|| {
                let all = Values::PROFILES.join(", ");
                Failure::new(Status::ErrorOption, format!("no profile `{name}`; there are {all}"))
            })?
        };
        if config.is_null() {
            return Err(Failure::null("config"));
        }
        let name = CONFIGS.keep(Mutex::new(values))?;
        // SAFETY: as the caller says.
        unsafe { memory::write(config, std::ptr::without_provenance_mut(name), "config")? };
        Ok(Status::Ok)
    })
}

/// Sets the option `key` to `value`, such as "rto_min" to "200 ms"; `anabranch engines` lists all options. An unknown
/// option or a wrong value gives ERROR_OPTION.
///
/// # Safety
/// `key` and `value` end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_config_set(
    config: *mut Config,
    key: *const c_char,
    value: *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let (key, value) = unsafe { (memory::text(key, "key")?, memory::text(value, "value")?) };
        let config = CONFIGS.get(config.addr())?;
        let mut values = config.lock().map_err(|_| Failure::internal())?;
        values.set(key, value).map_err(|error| Failure::new(Status::ErrorOption, error))?;
        Ok(Status::Ok)
    })
}

/// Sets the options that data channels of WebRTC need (RFC 8831) over a path within DTLS: resets of streams, partial
/// reliability, I-DATA if the peer supports it, 65,535 streams, IP packets of 1,200 bytes without probes, no ECN.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_config_for_webrtc(config: *mut Config) -> Status {
    guard(|| {
        let config = CONFIGS.get(config.addr())?;
        let mut values = config.lock().map_err(|_| Failure::internal())?;
        for (key, value) in [
            ("reconfiguration", "true"),
            ("partial_reliability", "true"),
            ("interleaving", "true"),
            ("outbound_streams", "65535"),
            ("inbound_streams", "65535"),
            ("max_outbound_streams", "65535"),
            ("mtu_discovery", "off"),
            ("mtu", "1200"),
            ("ecn", "off"),
        ] {
            values.set(key, value).map_err(|error| Failure::new(Status::ErrorOption, error))?;
        }
        Ok(Status::Ok)
    })
}

/// Writes the value of the option `key` to `buffer`, as text with a zero byte at its end. `needed` gets the size of both in bytes.
/// An unknown option gives ERROR_OPTION; if `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
///
/// # Safety
/// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_config_get(
    config: *const Config,
    key: *const c_char,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let key = unsafe { memory::text(key, "key")? };
        let config = CONFIGS.get(config.addr())?;
        let values = config.lock().map_err(|_| Failure::internal())?;
        let value = values.get(key);
        let value =
            value.ok_or_else(|| Failure::new(Status::ErrorOption, format!("there is no option `{key}`")))?;
        // SAFETY: as the caller says.
        unsafe { memory::copy_text(&value, buffer, room, needed) }
    })
}

/// Frees a configuration. Associations and endpoints that were made with it go on.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_config_free(config: *mut Config) -> Status {
    guard(|| CONFIGS.take(config.addr()).map(|_| Status::Ok))
}
