//! How a call went, and the words of its error.

use std::{cell::RefCell, ffi::c_char, io::Write};

use palpate::client::ClientError;
use tonic::Code;

/// How a call went.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum palpate_code {
    /// It did what it should.
    PALPATE_OK = 0,
    /// A pointer is NULL, a number is none or out of its range, a mesh is none. Nothing was changed.
    PALPATE_INVALID_ARGUMENT = 1,
    /// No such scene, tissue or tool, or not any more.
    PALPATE_NOT_FOUND = 2,
    /// The name is taken.
    PALPATE_ALREADY_EXISTS = 3,
    /// The server says no: key, role, quota or limit.
    PALPATE_REFUSED = 4,
    /// Nobody serves there, or the connection broke and did not come back.
    PALPATE_UNAVAILABLE = 5,
    /// Another thread is in this session's servo at this moment.
    PALPATE_BUSY = 6,
    /// The call does not fit what was done before: a servo in a session in lock-step, a scene that was deleted.
    PALPATE_WRONG_ORDER = 7,
    /// The buffer holds less than there is; the count says how much.
    PALPATE_TOO_SMALL = 8,
    /// There is no answer yet.
    PALPATE_NO_ANSWER = 9,
    /// A fault of Palpate. The session or scene of the call is not to be used any more.
    PALPATE_INTERNAL = 10,
}

use palpate_code::*;

/// A call that did not do what it should.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: palpate_code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: palpate_code, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Failure {
        Failure::new(PALPATE_INVALID_ARGUMENT, message)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        Failure::new(code_of(&error), error.to_string())
    }
}

fn code_of(error: &ClientError) -> palpate_code {
    match error {
        ClientError::Connect { .. } | ClientError::Gone { .. } | ClientError::Elsewhere { .. } => {
            PALPATE_UNAVAILABLE
        }
        ClientError::Mesh(_) | ClientError::Servo(_) => PALPATE_INVALID_ARGUMENT,
        ClientError::Over(cause) => code_of(cause),
        ClientError::Closed => PALPATE_WRONG_ORDER,
        ClientError::Refused { code, .. } => match code {
            Code::InvalidArgument | Code::OutOfRange => PALPATE_INVALID_ARGUMENT,
            Code::NotFound => PALPATE_NOT_FOUND,
            Code::AlreadyExists => PALPATE_ALREADY_EXISTS,
            Code::FailedPrecondition | Code::Aborted => PALPATE_WRONG_ORDER,
            Code::Internal | Code::Unknown | Code::DataLoss => PALPATE_INTERNAL,
            _ => PALPATE_REFUSED,
        },
    }
}

/// With its end, bytes.
const MESSAGE_MAX: usize = 512;

struct Message([u8; MESSAGE_MAX]);

thread_local! {
    // In place and not on the heap: the servo says what is wrong without allocating.
    static LAST: RefCell<Message> = const { RefCell::new(Message([0; MESSAGE_MAX])) };
}

/// Keeps the words for this thread; the end of long ones is lost.
pub(crate) fn remember(message: std::fmt::Arguments) {
    LAST.with_borrow_mut(|last| {
        let mut room = &mut last.0[..MESSAGE_MAX - 1];
        // An error: there was no more room.
        let _ = room.write_fmt(message);
        let left = room.len();
        last.0[MESSAGE_MAX - 1 - left] = 0;
        let written = &mut last.0[..MESSAGE_MAX - 1 - left];
        // A name with a zero in it would end the message, and one that was cut within a letter is no UTF-8.
        written.iter_mut().filter(|b| **b == 0).for_each(|b| *b = b'?');
        let valid = std::str::from_utf8(written).map_or_else(|e| e.valid_up_to(), |s| s.len());
        last.0[valid] = 0;
    });
}

/// What was wrong with the last call of this thread that failed: UTF-8, until this thread's next failure. Empty at first.
#[unsafe(no_mangle)]
pub extern "C" fn palpate_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.0.as_ptr().cast())
}

/// The same as Rust has it.
#[cfg(test)]
pub(crate) fn last_words() -> String {
    let text = |last: &Message| std::ffi::CStr::from_bytes_until_nul(&last.0).map(|t| t.to_owned());
    let text = LAST.with_borrow(text).expect("it ends");
    text.into_string().expect("UTF-8")
}
