//! A refusal: its canonical code, what it is about, and its message.
//!
//! Every handler returns this one error type. `status` makes it of each error of the engine and of the service, so
//! handlers name neither that file nor the errors below it.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// The reason of `google.rpc.ErrorInfo` in a refusal that names a scene's owner.
const OWNED_ELSEWHERE: &str = "SCENE_OWNED_ELSEWHERE";
/// Of that reason.
const DOMAIN: &str = "palpate";

/// A refusal, ready for the wire as a status or inside an answer.
#[derive(Clone, Debug)]
pub struct Refused {
    code: Code,
    /// What the code is about: a field, a resource, a limit or a condition.
    about: About,
    message: String,
}

#[derive(Clone, Debug)]
enum About {
    Field(String),
    Resource { kind: &'static str, name: String, field: String },
    Quota { limit: &'static str, field: String },
    Condition { kind: &'static str, field: String },
    Elsewhere { scene: String, address: String, epoch: u64 },
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

    /// A scene that another server has, and is to be asked for there.
    pub fn elsewhere(scene: String, address: String, epoch: u64, message: String) -> Refused {
        let about = About::Elsewhere { scene, address, epoch };
        Refused { code: Code::FailedPrecondition, about, message }
    }

    /// Nothing of the request: the server or its connection.
    pub fn server(code: Code, message: String) -> Refused {
        Refused { code, about: About::Server, message }
    }

    /// The same in other words.
    pub fn with_message(self, message: String) -> Refused {
        Refused { message, ..self }
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
            About::Elsewhere { .. } | About::Server => "",
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
            About::Elsewhere { scene, address, epoch } => {
                let epoch = epoch.to_string();
                let all = [("scene_id", scene), ("address", address), ("epoch", epoch)];
                let metadata: HashMap<_, _> =
                    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                ErrorDetails::with_error_info(OWNED_ELSEWHERE, DOMAIN, metadata)
            }
            About::Server => ErrorDetails::new(),
        };
        Status::with_error_details(code, message, details)
    }
}
