//! The result of a call.

use crate::value::Value;

/// The answer to a call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The call returns: a number, and the values written into its arguments, by place.
    Returns(i64, Vec<(usize, Value)>),
    /// The call returns -1 with this error.
    Fails(&'static str),
    /// The call waits.
    Blocks,
}

impl Answer {
    /// A call that returns 0.
    pub(crate) fn done() -> Self {
        Self::Returns(0, Vec::new())
    }

    /// A call that returns a number.
    pub(crate) fn number(number: usize) -> Self {
        Self::Returns(number as i64, Vec::new())
    }
}

/// An answer, or a sentence on why the script cannot ask that.
pub(crate) type Answered = Result<Answer, String>;
