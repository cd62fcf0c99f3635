//! A refusal: its canonical code, what it is about, and its message.
//!
//! Every handler returns this one error type. `status` makes it of each error of the engine and of the service, so
//! handlers name neither that file nor the errors below it.

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// A refusal, ready for the wire as a status or inside an answer.
#[derive(Debug)]
pub struct Refused {
    code: Code,
    /// What the code is about: a field, a resource, a limit or a condition.
    about: About,
    message: String,
}

#[derive(Debug)]
enum About {
    Field(String),
    Resource { kind: &'static str, name: String, field: String },
    Quota { limit: &'static str, field: String },
    Condition { kind: &'static str, field: String },
    Server,
}

impl Refused {
    /// A field of the request that cannot be taken as it is.
    pub fn field(field: impl Into<String>, message: String) -> Refused {
        Refused { code: Code::InvalidArgument, about: About::Field(field.into()), message }
    }

    /// Something that is not there, is there already, or is another key's.
    pub fn resource(code: Code, kind: &'static str, name: String, message: String) -> Refused {
        let about = About::Resource { kind, name, field: String::new() };
        Refused { code, about, message }
    }

    /// The same of one that a field names.
    pub fn resource_of_field(
        code: Code,
        (kind, name): (&'static str, String),
        field: String,
        message: String,
    ) -> Refused {
        Refused { code, about: About::Resource { kind, name, field }, message }
    }

    /// More than a limit or quota allows.
    pub fn quota(limit: &'static str, field: impl Into<String>, message: String) -> Refused {
        let about = About::Quota { limit, field: field.into() };
        Refused { code: Code::ResourceExhausted, about, message }
    }

    /// A state of the server that the request does not fit.
    pub fn condition(kind: &'static str, field: impl Into<String>, message: String) -> Refused {
        let about = About::Condition { kind, field: field.into() };
        Refused { code: Code::FailedPrecondition, about, message }
    }

    /// Nothing of the request: the server or its connection.
    pub fn server(code: Code, message: String) -> Refused {
        Refused { code, about: About::Server, message }
    }

    /// The canonical code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The field of the request that it is about; empty when it is about none.
    pub fn field_name(&self) -> &str {
        match &self.about {
            About::Field(field)
            | About::Quota { field, .. }
            | About::Condition { field, .. }
            | About::Resource { field, .. } => field,
            About::Server => "",
        }
    }

    /// What was got and what was expected, in words.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Status {
        let Refused { code, about, message } = refused;
        let text = message.clone();
        let details = match about {
            About::Field(field) => ErrorDetails::with_bad_request_violation(field, text),
            About::Resource { kind, name, .. } => {
                ErrorDetails::with_resource_info(kind, name, "", text)
            }
            About::Quota { limit, .. } => ErrorDetails::with_quota_failure_violation(limit, text),
            About::Condition { kind, field } => {
                ErrorDetails::with_precondition_failure_violation(kind, field, text)
            }
            About::Server => ErrorDetails::new(),
        };
        Status::with_error_details(code, message, details)
    }
}
