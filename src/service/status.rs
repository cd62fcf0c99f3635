//! The one place that gives an error its canonical code and its `google.rpc` details.

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::{
    access::Denied,
    catch_panic::Panicked,
    convert::{FieldError, Problem},
    host::{
        quota::OverQuota,
        scene_registry::{Ended, TableError},
        sessions::SessionError,
        writer::WriterError,
    },
    rpc::{mesh_upload::UploadPaused, self_collisions::TookTooLong},
};
use crate::proto;
use crate::scene::{
    SceneError,
    self_collision::{IntervalEnd, IntervalError, SelfCollisionError},
    tick::TickError,
    tissue::{deform::DeformError, edit::EditError},
};

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
    Resource { kind: &'static str, name: String },
    Quota { limit: &'static str, field: String },
    Condition { kind: &'static str, field: String },
    Server,
}

/// Which array of a request brought positions.
#[derive(Clone, Copy, Debug)]
pub enum Positions {
    /// `sparse.positions_m`
    Sparse,
    /// `dense.positions_m`
    Dense,
}

impl Refused {
    /// A deformation that the engine refused.
    pub fn deform(error: DeformError, positions: Positions) -> Refused {
        let message = error.to_string();
        let positions = match positions {
            Positions::Sparse => "sparse.positions_m",
            Positions::Dense => "dense.positions_m",
        };
        let field = match error {
            DeformError::Count { .. } | DeformError::Position { .. } => positions.to_owned(),
            DeformError::UnknownVertex { at, .. } | DeformError::RepeatedVertex { at, .. } => {
                format!("sparse.vertices[{at}]")
            }
        };
        Refused::field(field, message)
    }

    fn interval(at: usize, error: &IntervalError, message: String) -> Refused {
        let field = |end| match end {
            IntervalEnd::From => format!("tissues[{at}].from_geometry_revision"),
            IntervalEnd::To => format!("tissues[{at}].to_geometry_revision"),
        };
        match error {
            IntervalError::NotHeld { end, .. } => {
                Refused::condition("GEOMETRY_REVISION", field(*end), message)
            }
            IntervalError::Cut { end, .. } => {
                Refused::condition("TOPOLOGY_REVISION", field(*end), message)
            }
            IntervalError::Backwards { .. } => Refused::field(field(IntervalEnd::To), message),
        }
    }

    fn field(field: impl Into<String>, message: String) -> Refused {
        Refused { code: Code::InvalidArgument, about: About::Field(field.into()), message }
    }

    fn resource(code: Code, kind: &'static str, name: String, message: String) -> Refused {
        Refused { code, about: About::Resource { kind, name }, message }
    }

    fn quota(limit: &'static str, field: impl Into<String>, message: String) -> Refused {
        let about = About::Quota { limit, field: field.into() };
        Refused { code: Code::ResourceExhausted, about, message }
    }

    fn condition(kind: &'static str, field: impl Into<String>, message: String) -> Refused {
        let about = About::Condition { kind, field: field.into() };
        Refused { code: Code::FailedPrecondition, about, message }
    }

    fn server(code: Code, message: String) -> Refused {
        Refused { code, about: About::Server, message }
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Status {
        let Refused { code, about, message } = refused;
        let text = message.clone();
        let details = match about {
            About::Field(field) => ErrorDetails::with_bad_request_violation(field, text),
            About::Resource { kind, name } => {
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

impl From<Refused> for proto::Refusal {
    fn from(refused: Refused) -> proto::Refusal {
        let field = match refused.about {
            About::Field(field) | About::Quota { field, .. } | About::Condition { field, .. } => {
                field
            }
            About::Resource { .. } => "tools".to_owned(),
            About::Server => String::new(),
        };
        proto::Refusal { code: refused.code as u32, field, message: refused.message }
    }
}

impl From<FieldError> for Refused {
    fn from(error: FieldError) -> Refused {
        let message = error.to_string();
        match error.problem {
            Problem::OverLimit { limit, .. } => Refused::quota(limit, error.field, message),
            Problem::Missing
            | Problem::Unexpected(_)
            | Problem::Range { .. }
            | Problem::NotARotation { .. }
            | Problem::NoDirection
            | Problem::Enumerator { .. }
            | Problem::Length { .. }
            | Problem::Character { .. }
            | Problem::Repeated
            | Problem::Index { .. }
            | Problem::Threes { .. }
            | Problem::TooMany { .. }
            | Problem::LinkPoses { .. }
            | Problem::NotAsDeclared { .. }
            | Problem::Sequence { .. }
            | Problem::File(_)
            | Problem::Mesh(_) => Refused::field(error.field, message),
        }
    }
}

impl From<TableError> for Refused {
    fn from(error: TableError) -> Refused {
        let message = error.to_string();
        match error {
            TableError::Id(error) => error.into(),
            TableError::Ended(error) => error.into(),
            TableError::Quota(error) => error.into(),
            TableError::NotOwner { id } => {
                Refused::resource(Code::PermissionDenied, "scene", id, message)
            }
            TableError::Taken { id } => {
                Refused::resource(Code::AlreadyExists, "scene", id, message)
            }
            TableError::Unknown { id } => Refused::resource(Code::NotFound, "scene", id, message),
            TableError::Full { .. } => Refused::quota("scenes", "scene_id", message),
            TableError::NoThread(_) => Refused::server(Code::ResourceExhausted, message),
        }
    }
}

impl From<Ended> for Refused {
    fn from(ended: Ended) -> Refused {
        let message = ended.to_string();
        match ended {
            Ended::Deleted { id } => Refused::resource(Code::NotFound, "scene", id, message),
            Ended::Quarantined { .. } => {
                Refused::condition("SCENE_QUARANTINED", "scene_id", message)
            }
            Ended::ShuttingDown => Refused::server(Code::Unavailable, message),
        }
    }
}

impl From<SceneError> for Refused {
    fn from(error: SceneError) -> Refused {
        let message = error.to_string();
        match error {
            SceneError::NameTaken { kind, name } => {
                Refused::resource(Code::AlreadyExists, kind, name, message)
            }
            SceneError::Full { kind: "tool", .. } => {
                Refused::quota("tools_per_scene", "header", message)
            }
            SceneError::Full { .. } => Refused::quota("tissues_per_scene", "header", message),
            SceneError::Unknown { kind, id } => {
                Refused::resource(Code::NotFound, kind, id.to_string(), message)
            }
        }
    }
}

impl From<EditError> for Refused {
    fn from(error: EditError) -> Refused {
        let message = error.to_string();
        let field = match error {
            EditError::StaleBase { .. } => {
                return Refused::condition("TOPOLOGY_REVISION", "base_topology_revision", message);
            }
            EditError::Full { what: "vertex", .. } => {
                return Refused::quota("vertices_per_mesh", "added_positions_m", message);
            }
            EditError::Full { .. } => {
                return Refused::quota("triangles_per_mesh", "added_triangles", message);
            }
            EditError::UnknownTriangle { at, .. } => format!("removed_triangles[{at}]"),
            EditError::UnknownVertex { .. } => "added_triangles".to_owned(),
            EditError::Position { .. } => "added_positions_m".to_owned(),
            EditError::ParentCount { .. } => "added_triangle_parents".to_owned(),
            EditError::ParentNotRemoved { at, .. } => format!("added_triangle_parents[{at}]"),
        };
        Refused::field(field, message)
    }
}

impl From<TickError> for Refused {
    fn from(error: TickError) -> Refused {
        let message = error.to_string();
        let field = match error {
            TickError::Sequence { .. } => "sequence".to_owned(),
            TickError::NotTracked { at, .. } | TickError::Repeated { at, .. } => {
                format!("tools[{at}].tool_id")
            }
            TickError::Missing { .. } => "tools".to_owned(),
            TickError::LinkPoses { at, .. } => format!("tools[{at}].link_poses"),
            TickError::Removed { tool } => {
                return Refused::resource(Code::NotFound, "tool", tool.to_string(), message);
            }
        };
        Refused::field(field, message)
    }
}

impl From<SelfCollisionError> for Refused {
    fn from(error: SelfCollisionError) -> Refused {
        let message = error.to_string();
        match error {
            SelfCollisionError::Scene(error) => error.into(),
            SelfCollisionError::Interval { at, source } => Refused::interval(at, &source, message),
            SelfCollisionError::TooManyPairs { .. } => {
                Refused::quota("triangle_pairs", "tissues", message)
            }
            SelfCollisionError::Stopped => Refused::server(Code::Cancelled, message),
        }
    }
}

impl From<TookTooLong> for Refused {
    fn from(error: TookTooLong) -> Refused {
        Refused::quota("job_time", "tissues", error.to_string())
    }
}

impl From<Panicked> for Refused {
    fn from(error: Panicked) -> Refused {
        Refused::server(Code::Internal, error.to_string())
    }
}

impl From<SessionError> for Refused {
    fn from(error: SessionError) -> Refused {
        let message = error.to_string();
        match error {
            SessionError::Full { .. } => Refused::quota("sessions", "start", message),
            SessionError::Unknown => {
                Refused::resource(Code::NotFound, "session", String::new(), message)
            }
            SessionError::Tools { .. } => Refused::field("start.tool_ids", message),
            SessionError::Taken => Refused::server(Code::Aborted, message),
            SessionError::NoToken(_) => Refused::server(Code::Internal, message),
        }
    }
}

impl From<OverQuota> for Refused {
    fn from(error: OverQuota) -> Refused {
        let limit = match error.what {
            "scenes" => "scenes_per_key",
            "triangles" => "triangles_per_key",
            "bytes" => "bytes_per_key",
            _ => "streams_per_key",
        };
        Refused::quota(limit, "", error.to_string())
    }
}

impl From<Denied> for Refused {
    fn from(error: Denied) -> Refused {
        let message = error.to_string();
        match error {
            Denied::Unknown | Denied::Withdrawn { .. } => {
                Refused::server(Code::Unauthenticated, message)
            }
            Denied::Role { key, .. } => {
                Refused::resource(Code::PermissionDenied, "key", key, message)
            }
        }
    }
}

impl From<UploadPaused> for Refused {
    fn from(error: UploadPaused) -> Refused {
        Refused::server(Code::DeadlineExceeded, error.to_string())
    }
}

impl From<WriterError> for Refused {
    fn from(error: WriterError) -> Refused {
        match error {
            WriterError::Panicked(error) => error.into(),
            WriterError::Gone => Refused::server(Code::Unavailable, error.to_string()),
        }
    }
}

/// Lets handlers answer each of these with `?`.
macro_rules! statuses {
    ($($error:ty),*) => {
        $(impl From<$error> for Status {
            fn from(error: $error) -> Status {
                Refused::from(error).into()
            }
        })*
    };
}

statuses!(
    FieldError,
    TableError,
    Ended,
    SceneError,
    EditError,
    Denied,
    Panicked,
    UploadPaused,
    WriterError,
    OverQuota
);
