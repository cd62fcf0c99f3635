//! Refusals of requests: canonical code, subject and message.
//!
//! Every handler returns this one error type. `rpc::status` creates it from each error of the engine and of the service, so
//! handlers name neither that file nor the errors below it.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// Reason of `google.rpc.ErrorInfo` in a refusal that names a scene's owner.
const OWNED_ELSEWHERE: &str = "SCENE_OWNED_ELSEWHERE";
/// Domain of that reason.
const DOMAIN: &str = "palpate";

/// A refusal, sent as a status or inside an answer.
#[derive(Clone, Debug)]
pub struct Refused {
    code: Code,
    /// Subject of the code: a field, a resource, a limit or a condition.
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
    /// Refuses a field of the request.
    pub fn field(field: impl Into<String>, message: String) -> Refused {
        Refused { code: Code::InvalidArgument, about: About::Field(field.into()), message }
    }

    /// Refuses a resource that does not exist, exists already, or belongs to another key.
    pub fn resource(code: Code, kind: &'static str, name: String, message: String) -> Refused {
        let about = About::Resource { kind, name, field: String::new() };
        Refused { code, about, message }
    }

    /// As [`Refused::resource`], for a resource that a field names.
    pub fn resource_of_field(
        code: Code,
        (kind, name): (&'static str, String),
        field: String,
        message: String,
    ) -> Refused {
        Refused { code, about: About::Resource { kind, name, field }, message }
    }

    /// Refuses a request beyond a limit or quota.
    pub fn quota(limit: &'static str, field: impl Into<String>, message: String) -> Refused {
        let about = About::Quota { limit, field: field.into() };
        Refused { code: Code::ResourceExhausted, about, message }
    }

    /// Refuses a request that does not fit the server's state.
    pub fn condition(kind: &'static str, field: impl Into<String>, message: String) -> Refused {
        let about = About::Condition { kind, field: field.into() };
        Refused { code: Code::FailedPrecondition, about, message }
    }

    /// Refuses a scene that another server owns, with that server's address.
    pub fn elsewhere(scene: String, address: String, epoch: u64, message: String) -> Refused {
        let about = About::Elsewhere { scene, address, epoch };
        Refused { code: Code::FailedPrecondition, about, message }
    }

    /// Refuses for a reason outside the request: the server or its connection.
    pub fn server(code: Code, message: String) -> Refused {
        Refused { code, about: About::Server, message }
    }

    /// Replaces the message.
    pub fn with_message(self, message: String) -> Refused {
        Refused { message, ..self }
    }

    /// Returns the canonical code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the field of the request that the refusal is about; empty if there is none.
    pub fn field_name(&self) -> &str {
        match &self.about {
            About::Field(field)
            | About::Quota { field, .. }
            | About::Condition { field, .. }
            | About::Resource { field, .. } => field,
            About::Elsewhere { .. } | About::Server => "",
        }
    }

    /// Returns the message: the value that was got and the one that is expected.
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
