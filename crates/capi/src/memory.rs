//! Memory of the caller: the only place of this crate where pointers are followed.

use std::ffi::{CStr, c_char};

use crate::status::{Answer, Failure, Status};

/// Copies a structure of the caller.
///
/// # Safety
/// Where `from` is not null, a `T` can be read there that C code has filled: all fields are numbers, pointers or `bool`.
pub(crate) unsafe fn read<T: Copy>(from: *const T, what: &str) -> Result<T, Failure> {
    if from.is_null() {
        return Err(Failure::null(what));
    }
    if !from.is_aligned() {
        return Err(Failure::argument(format!("`{what}` is not aligned as its type has to be")));
    }
    // SAFETY: it is neither null nor misaligned, and the caller says that there is a `T`, of which this is a copy.
    Ok(unsafe { from.read() })
}

/// Writes a result to the address `to` of the caller.
///
/// # Safety
/// Where `to` is not null, a `T` can be written there, which no other thread uses.
pub(crate) unsafe fn write<T>(to: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::null(what));
    }
    if !to.is_aligned() {
        return Err(Failure::argument(format!("`{what}` is not aligned as its type has to be")));
    }
    // SAFETY: it is neither null nor misaligned, and the caller says that a `T` can be written there. The value it
    // replaces is plain data.
    unsafe { to.write(value) };
    Ok(())
}

/// As [`write`], for an optional result: if `to` is null, it does nothing.
///
/// # Safety
/// As [`write`].
pub(crate) unsafe fn write_if_wanted<T>(to: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if to.is_null() {
        return Ok(());
    }
    // SAFETY: this function and `write` have the same conditions.
    unsafe { write(to, value, what) }
}

/// Bytes of the caller; `from` may be null where `len` is 0.
///
/// # Safety
/// Where `from` is not null, `len` bytes can be read there as long as the result is used, and do not change meanwhile.
pub(crate) unsafe fn bytes<'a>(from: *const u8, len: usize, what: &str) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(Failure::null(what));
    }
    if len > isize::MAX as usize {
        return Err(Failure::argument(format!("`{what}` has {len} bytes: so much memory there is not")));
    }
    // SAFETY: it is not null, bytes are always aligned, it is not longer than a slice may be, and the caller says that it can be read.
    Ok(unsafe { std::slice::from_raw_parts(from, len) })
}

/// Numbers of streams of the caller.
///
/// # Safety
/// As [`bytes`], for `len` numbers.
pub(crate) unsafe fn numbers<'a>(from: *const u16, len: usize, what: &str) -> Result<&'a [u16], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(Failure::null(what));
    }
    if len > 1 << 16 || !from.is_aligned() {
        return Err(Failure::argument(format!("`{what}`: at most 65,536 numbers, aligned as such")));
    }
    // SAFETY: it is neither null nor misaligned nor too long, and the caller says that it can be read.
    Ok(unsafe { std::slice::from_raw_parts(from, len) })
}

/// A text of the caller.
///
/// # Safety
/// Where `from` is not null, a text that ends with a zero byte is there as long as the result is used, and does not change meanwhile.
pub(crate) unsafe fn text<'a>(from: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if from.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: it is not null, and the caller says that it ends.
    let text = unsafe { CStr::from_ptr(from) };
    text.to_str().map_err(|_| Failure::argument(format!("`{what}` is no UTF-8")))
}

/// Copies `from` to a buffer of the caller with room for `room` elements, and writes the length of `from` to `needed`, which may be
/// null. If the buffer is too small, nothing is copied.
///
/// # Safety
/// Where `to` is not null, `room` elements can be written there, and where `needed` is not null, a number there.
pub(crate) unsafe fn copy<T: Copy>(from: &[T], to: *mut T, room: usize, needed: *mut usize) -> Answer {
    // SAFETY: as the caller says.
    unsafe { write_if_wanted(needed, from.len(), "needed")? };
    if from.len() > room {
        let (len, what) = (from.len(), "there is not room for all in the buffer");
        return Err(Failure::new(Status::ErrorBuffer, format!("{what}: {len} are needed, {room} given")));
    }
    if from.is_empty() {
        return Ok(Status::Ok);
    }
    if to.is_null() {
        return Err(Failure::null("buffer"));
    }
    if !to.is_aligned() {
        return Err(Failure::argument("the buffer is not aligned as its type has to be"));
    }
    // SAFETY: there is room for as many, as the caller says; neither null nor misaligned; and memory of Rust is not memory of the caller.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    Ok(Status::Ok)
}

/// As [`copy`], for a text and a zero byte at its end, which counts for `needed`.
///
/// # Safety
/// As [`copy`].
pub(crate) unsafe fn copy_text(from: &str, to: *mut c_char, room: usize, needed: *mut usize) -> Answer {
    let mut bytes = from.replace('\0', " ").into_bytes();
    bytes.push(0);
    // SAFETY: `c_char` is a byte, with or without a sign; the rest is as the caller says.
    unsafe { copy(&bytes, to.cast::<u8>(), room, needed) }
}
