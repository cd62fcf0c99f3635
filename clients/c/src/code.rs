//! Return codes of the calls, and the error message of the last failure.

use std::{cell::RefCell, ffi::c_char, io::Write};

use palpate::client::ClientError;
use tonic::Code;

/// Result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum palpate_code {
    /// Success.
    PALPATE_OK = 0,
    /// A pointer is NULL, a number is NaN or out of range, a mesh is malformed. Nothing was changed.
    PALPATE_INVALID_ARGUMENT = 1,
    /// The scene, tissue or tool does not exist, or no longer exists.
    PALPATE_NOT_FOUND = 2,
    /// The name is taken.
    PALPATE_ALREADY_EXISTS = 3,
    /// The server refused the call: key, role, quota or limit.
    PALPATE_REFUSED = 4,
    /// No server answers at the address, or the connection broke and was not restored.
    PALPATE_UNAVAILABLE = 5,
    /// Another thread is in this session's servo now.
    PALPATE_BUSY = 6,
    /// The call does not fit earlier calls: a servo in a session in lock-step, a scene that was deleted.
    PALPATE_WRONG_ORDER = 7,
    /// The buffer is too small; the count gives the required size.
    PALPATE_TOO_SMALL = 8,
    /// There is no answer yet.
    PALPATE_NO_ANSWER = 9,
    /// An internal error of Palpate. The session or scene of the call must not be used any more.
    PALPATE_INTERNAL = 10,
    /// The program was compiled with the header of a version that does not fit the library.
    PALPATE_INCOMPATIBLE = 11,
}

use palpate_code::*;

/// Code and message of a failed call.
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

/// Size of a message including its final zero, bytes.
const MESSAGE_MAX: usize = 512;

struct Message([u8; MESSAGE_MAX]);

thread_local! {
    // In place and not on the heap: the servo reports errors without allocating.
    static LAST: RefCell<Message> = const { RefCell::new(Message([0; MESSAGE_MAX])) };
    static WARNING: RefCell<Message> = const { RefCell::new(Message([0; MESSAGE_MAX])) };
}

/// Stores the error message of this thread; a long message is truncated.
pub(crate) fn remember(message: std::fmt::Arguments) {
    LAST.with_borrow_mut(|last| last.write(message));
}

/// Stores the warning of a call that added a mesh; empty if there is none.
pub(crate) fn warn(message: &str) {
    WARNING.with_borrow_mut(|warning| warning.write(format_args!("{message}")));
}

impl Message {
    fn write(&mut self, message: std::fmt::Arguments) {
        let mut room = &mut self.0[..MESSAGE_MAX - 1];
        // Fails if the buffer is full; the message is then truncated.
        let _ = room.write_fmt(message);
        let left = room.len();
        self.0[MESSAGE_MAX - 1 - left] = 0;
        let written = &mut self.0[..MESSAGE_MAX - 1 - left];
        // A zero byte in a name would end the message, and a cut within a character would leave invalid UTF-8.
        written.iter_mut().filter(|b| **b == 0).for_each(|b| *b = b'?');
        let valid = std::str::from_utf8(written).map_or_else(|e| e.valid_up_to(), |s| s.len());
        self.0[valid] = 0;
    }
}

/// Message of this thread's last failed call: UTF-8, valid until this thread's next failure. Empty at first.
#[unsafe(no_mangle)]
pub extern "C" fn palpate_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.0.as_ptr().cast())
}

/// Warnings of this thread's last call that added a tissue or tool, each completing "the mesh ...", with "; " between
/// them: that it may be in another unit, is open, has several bodies and the like. UTF-8, valid until this thread's next
/// such call. Empty if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn palpate_last_warning() -> *const c_char {
    WARNING.with_borrow(|last| last.0.as_ptr().cast())
}

/// As [`palpate_last_error`], for Rust.
#[cfg(test)]
pub(crate) fn last_words() -> String {
    let text = |last: &Message| std::ffi::CStr::from_bytes_until_nul(&last.0).map(|t| t.to_owned());
    let text = LAST.with_borrow(text).expect("it ends");
    text.into_string().expect("UTF-8")
}
