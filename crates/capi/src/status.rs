//! The results of calls.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call: 0 for success, above 0 for a result that is no error, below 0 for an error.
/// `anabranch_last_error` returns a sentence for the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// There is nothing now: no packet, no event, no message, no timer.
    Nothing = 1,
    /// No more data will come: the peer has stopped sending and all messages were read, or the driver was closed.
    End = 2,
    /// A pointer that must not be null is null.
    ErrorNull = -1,
    /// A handle was freed, was never made, or belongs to another type.
    ErrorHandle = -2,
    /// A value is out of its range, or a text is no UTF-8.
    ErrorArgument = -3,
    /// No option or profile has this name, or the option does not allow this value.
    ErrorOption = -4,
    /// No association has this number, or it has ended.
    ErrorAssociation = -5,
    /// The buffer is too small. The call has written the needed size, and nothing is lost: repeat it with a larger buffer.
    ErrorBuffer = -6,
    /// The send buffer is full. The event WRITABLE reports new room.
    ErrorFull = -7,
    /// The association is closing or has ended.
    ErrorClosed = -8,
    /// The stack refuses the call in its present state.
    ErrorRefused = -9,
    /// The operating system refused a resource, such as a socket, a thread or random bytes.
    ErrorSystem = -10,
    /// The time limit of the call has expired.
    ErrorTimeout = -11,
    /// An internal fault of the library.
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

/// Runs the body of a call from C. No panic leaves this function.
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

/// Returns a sentence about the last error of this thread; empty if there was none. The text belongs to the library, and stays
/// valid until the next error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// The version of the library, with a zero byte at its end.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Returns the version of the library, such as "0.1.0". The text belongs to the library, and stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_version() -> *const c_char {
    VERSION.as_ptr()
}
