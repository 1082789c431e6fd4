//! The results of calls.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call: 0, something that is no error (above 0), or an error (below 0). `anabranch_last_error` has a
/// sentence for the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// It was done.
    Ok = 0,
    /// There is nothing now: no packet, no event, no message, no timer.
    Nothing = 1,
    /// There will be nothing more: the peer sends nothing any more and all was read; the endpoint has been closed.
    End = 2,
    /// A pointer that must not be null is null.
    ErrorNull = -1,
    /// A handle was freed, or never made, or is of another type.
    ErrorHandle = -2,
    /// A value is out of its range, or a text is no UTF-8.
    ErrorArgument = -3,
    /// There is no such option or profile, or the option does not take that value.
    ErrorOption = -4,
    /// There is no association with that number.
    ErrorAssociation = -5,
    /// The buffer is too small: how much is needed was written. Nothing is lost, ask again.
    ErrorBuffer = -6,
    /// The send buffer is full: an event tells when it has room.
    ErrorFull = -7,
    /// The association is closing, or has ended.
    ErrorClosed = -8,
    /// The stack does not do this now.
    ErrorRefused = -9,
    /// The operating system does not give what is needed.
    ErrorSystem = -10,
    /// It took too long.
    ErrorTimeout = -11,
    /// A fault of the library.
    ErrorInternal = -12,
}

/// An error and its sentence.
pub(crate) struct Failure {
    status: Status,
    what: String,
}

impl Failure {
    #[allow(clippy::needless_pass_by_value, reason = "errors and texts are made for it")]
    pub(crate) fn new(status: Status, what: impl ToString) -> Self {
        Self { status, what: what.to_string() }
    }

    pub(crate) fn argument(what: impl ToString) -> Self {
        Self::new(Status::ErrorArgument, what)
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::new(Status::ErrorNull, format!("`{what}` must not be null"))
    }

    pub(crate) fn internal() -> Self {
        Self::new(Status::ErrorInternal, "a fault of the library; what it concerns is of no use any more")
    }
}

pub(crate) type Answer = Result<Status, Failure>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// Runs the body of a call from C. No panic leaves.
pub(crate) fn guard(call: impl FnOnce() -> Answer) -> Status {
    // State that a panic left half changed is behind a lock that is poisoned then, and is not used again.
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal(),
    };
    let what = failure.what.replace('\0', " ");
    LAST.with(|last| *last.borrow_mut() = CString::new(what).unwrap_or_default());
    failure.status
}

/// The last error of this thread in a sentence; empty when there was none. The text is the library's, and stays until this thread's next
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// The version as C has texts.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_version() -> *const c_char {
    VERSION.as_ptr()
}
