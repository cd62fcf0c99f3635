//! Conversion of all errors to canonical codes and `google.rpc` details.
//!
//! This module depends on all errors that can be refused, and no other module names it: `?` finds the conversions
//! without an import.

use tonic::{Code, Status};

use super::{mesh_upload::UploadPaused, queries::QueryTookTooLong, self_collisions::TookTooLong};
use crate::proxy::{RenderError, RenderedSessionError};
use crate::scene::{
    SceneError,
    saved::NotAScene,
    self_collision::{IntervalEnd, IntervalError, SelfCollisionError},
    tick::TickError,
    tissue::{deform::DeformError, edit::EditError, feel::FeelError, incision::IncisionError},
};
use crate::service::host::stream_table::WatchRefused;
use crate::service::{
    access::denied::Denied,
    catch_panic::Panicked,
    convert::{FieldError, Problem, deform::RefusedDeformation},
    deadline::DeadlinePassed,
    host::{
        cluster::{hand_over::NotHandedOver, scene_lease::NewOwner},
        durable::not_kept::NotKept,
        field_build::BuildTookTooLong,
        quota::{OverQuota, RoomRefused},
        scene_error::SceneRegistryError,
        scene_life::Ended,
        writer::WriterError,
    },
    loops::sessions::SessionError,
    refused::Refused,
};

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
            | Problem::RepeatedName { .. }
            | Problem::Index { .. }
            | Problem::Entries { .. }
            | Problem::Weights { .. }
            | Problem::Binding(_)
            | Problem::TooMany { .. }
            | Problem::Poses { .. }
            | Problem::Unlisted { .. }
            | Problem::NotAsDeclared { .. }
            | Problem::Sequence { .. }
            | Problem::File(_)
            | Problem::Mesh(_) => Refused::field(error.field, message),
        }
    }
}

impl From<SceneRegistryError> for Refused {
    fn from(error: SceneRegistryError) -> Refused {
        let message = error.to_string();
        match error {
            SceneRegistryError::Id(error) => error.into(),
            SceneRegistryError::Ended(error) => error.into(),
            SceneRegistryError::Quota(error) => error.into(),
            SceneRegistryError::NotOwner { id } => {
                Refused::resource(Code::PermissionDenied, "scene", id, message)
            }
            SceneRegistryError::Taken { id } => {
                Refused::resource(Code::AlreadyExists, "scene", id, message)
            }
            SceneRegistryError::Unknown { id } => {
                Refused::resource(Code::NotFound, "scene", id, message)
            }
            SceneRegistryError::Full { .. } => Refused::quota("scenes", "scene_id", message),
            SceneRegistryError::KeepsNone => Refused::condition("DURABLE", "durable", message),
            SceneRegistryError::NotKept(error) => error.into(),
            SceneRegistryError::Claims { .. } => Refused::server(Code::Unavailable, message),
            SceneRegistryError::Unreadable { id, .. } => {
                Refused::resource(Code::DataLoss, "scene", id, message)
            }
            SceneRegistryError::NotLoaded { why, .. } => match why.code() {
                Code::ResourceExhausted => why.with_message(message),
                _ => Refused::server(Code::Unavailable, message),
            },
            SceneRegistryError::NoThread(_) => Refused::server(Code::ResourceExhausted, message),
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
            Ended::Elsewhere { id, owner: NewOwner { address: Some(address), epoch } } => {
                Refused::elsewhere(id, address, epoch, message)
            }
            Ended::Elsewhere { .. }
            | Ended::Deleting { .. }
            | Ended::Unsure { .. }
            | Ended::Opening { .. }
            | Ended::Replaced { .. }
            | Ended::ShuttingDown
            | Ended::Recovering => Refused::server(Code::Unavailable, message),
        }
    }
}

impl From<NotKept> for Refused {
    fn from(error: NotKept) -> Refused {
        let message = error.to_string();
        match error {
            NotKept::Disk(_) => Refused::quota("disk", "", message),
            NotKept::Ended(ended) => ended.into(),
            NotKept::Unknown(_) | NotKept::Gone => Refused::server(Code::Unavailable, message),
        }
    }
}

impl From<NotHandedOver> for Refused {
    fn from(error: NotHandedOver) -> Refused {
        let message = error.to_string();
        match error {
            NotHandedOver::NotShared => Refused::condition("SHARED", "scene_id", message),
            NotHandedOver::NotDurable { .. } => Refused::condition("DURABLE", "scene_id", message),
            NotHandedOver::NoSuchServer { .. } | NotHandedOver::OfAnother { .. } => {
                Refused::field("to_address", message)
            }
            NotHandedOver::NotKept(error) => error.into(),
            NotHandedOver::Ended(ended) => ended.into(),
            NotHandedOver::Claims { .. } => Refused::server(Code::Unavailable, message),
        }
    }
}

impl From<NotAScene> for Refused {
    fn from(error: NotAScene) -> Refused {
        Refused::server(Code::DataLoss, error.to_string())
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

impl From<RenderedSessionError> for Refused {
    fn from(error: RenderedSessionError) -> Refused {
        let message = error.to_string();
        let (at, option) = match error {
            RenderedSessionError::Scene(error) => return error.into(),
            RenderedSessionError::NotTracked { at, .. }
            | RenderedSessionError::Repeated { at, .. } => (at, "tool_id"),
            RenderedSessionError::Render { at, source } => match source {
                RenderError::Links { .. } => (at, "tool_id"),
                RenderError::Range { option, .. } => (at, option),
                RenderError::HoldPoint { .. } => (at, "hold_point_m"),
                RenderError::CuttingLink { .. } => (at, "cutting_links"),
            },
        };
        Refused::field(format!("start.render[{at}].{option}"), message)
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
            EditError::UnknownVertex { at, .. } => format!("added_triangles[{at}]"),
            EditError::Position { at, .. } => {
                let field = format!("added_positions_m[{at}]");
                let message = format!("{field} {message}");
                return Refused::field(field, message);
            }
            EditError::NoWeights { at } | EditError::NoRestPosition { at } => {
                format!("added_positions_m[{at}]")
            }
            EditError::NotDriven | EditError::Weights(_) => "added_weights".to_owned(),
            EditError::ParentCount { .. } => "added_triangle_parents".to_owned(),
            EditError::ParentNotRemoved { at, .. } => format!("added_triangle_parents[{at}]"),
        };
        Refused::field(field, message)
    }
}

impl From<IncisionError> for Refused {
    fn from(error: IncisionError) -> Refused {
        let field = match error {
            IncisionError::Far { at, .. }
            | IncisionError::NoWay { at }
            | IncisionError::Long { at, .. }
            | IncisionError::MeetsItself { at } => format!("incision.path_m[{}]", 3 * at),
            IncisionError::Points { .. }
            | IncisionError::NoLength
            | IncisionError::Branches { .. } => "incision.path_m".to_owned(),
            IncisionError::Size { what, .. } => format!("incision.{what}"),
            IncisionError::NotClosed
            | IncisionError::CarriedByPoints
            | IncisionError::TooDeep { .. } => "incision.depth_m".to_owned(),
        };
        Refused::field(field, format!("incision: {error}"))
    }
}

impl From<FeelError> for Refused {
    fn from(error: FeelError) -> Refused {
        let message = format!("feel.{error}");
        let field = match error {
            FeelError::Materials { .. } => "feel.materials".to_owned(),
            FeelError::Range { at, number, .. } => format!("feel.materials[{at}].{number}"),
            FeelError::UnknownMaterial { at, .. } => format!("feel.triangle_materials[{at}]"),
            FeelError::Triangles { .. } => "feel.triangle_materials".to_owned(),
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
            TickError::Removed { at, tool } => {
                let (named, field) = (("tool", tool.to_string()), format!("tools[{at}].tool_id"));
                return Refused::resource_of_field(Code::NotFound, named, field, message);
            }
        };
        Refused::field(field, message)
    }
}

impl From<RefusedDeformation> for Refused {
    fn from(RefusedDeformation { error, array }: RefusedDeformation) -> Refused {
        let field = match error {
            DeformError::Count { .. } => array.to_owned(),
            DeformError::Position { at, .. } => format!("{array}[{at}]"),
            DeformError::UnknownVertex { at, .. } | DeformError::RepeatedVertex { at, .. } => {
                format!("sparse.vertices[{at}]")
            }
            DeformError::UnknownControl { at, .. } | DeformError::RepeatedControl { at, .. } => {
                format!("controls.control_ids[{at}]")
            }
            DeformError::Control { at } => format!("{array}[{at}]"),
            DeformError::Driven
            | DeformError::NotDriven
            | DeformError::ControlKind { .. }
            | DeformError::ControlCount { .. }
            | DeformError::CarriedVertex { .. } => array.to_owned(),
        };
        let message = format!("{field} {error}");
        Refused::field(field, message)
    }
}

impl From<SelfCollisionError> for Refused {
    fn from(error: SelfCollisionError) -> Refused {
        let message = error.to_string();
        match error {
            SelfCollisionError::Scene(error) => error.into(),
            SelfCollisionError::Interval { at, source } => interval(at, &source, message),
            SelfCollisionError::TooManyPairs { .. } => {
                Refused::quota("triangle_pairs", "tissues", message)
            }
            SelfCollisionError::Stopped => Refused::server(Code::Cancelled, message),
        }
    }
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

impl From<TookTooLong> for Refused {
    fn from(error: TookTooLong) -> Refused {
        Refused::quota("job_time", "tissues", error.to_string())
    }
}

impl From<QueryTookTooLong> for Refused {
    fn from(error: QueryTookTooLong) -> Refused {
        Refused::quota("query_time", "points_xyz_m", error.to_string())
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
            SessionError::Share { .. } => Refused::quota("sessions_per_key", "start", message),
            SessionError::Unknown => {
                Refused::resource(Code::NotFound, "session", String::new(), message)
            }
            SessionError::Tools { .. } => Refused::field("start.tool_ids", message),
            SessionError::Taken => Refused::server(Code::Aborted, message),
            SessionError::NoToken(_) => Refused::server(Code::Internal, message),
        }
    }
}

impl From<BuildTookTooLong> for Refused {
    fn from(error: BuildTookTooLong) -> Refused {
        Refused::quota("field_build_max", "header.links", error.to_string())
    }
}

impl From<RoomRefused> for Refused {
    fn from(error: RoomRefused) -> Refused {
        match error {
            RoomRefused::Quota(error) => error.into(),
            RoomRefused::Share(error) => {
                Refused::quota("memory_bytes_per_key", "", error.to_string())
            }
            RoomRefused::Memory(error) => Refused::quota("memory_bytes", "", error.to_string()),
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

impl From<WatchRefused> for Refused {
    fn from(error: WatchRefused) -> Refused {
        match error {
            WatchRefused::Quota(error) => error.into(),
            WatchRefused::Full => Refused::quota("watchers", "", error.to_string()),
        }
    }
}

impl From<Denied> for Refused {
    fn from(error: Denied) -> Refused {
        let message = error.to_string();
        match error {
            Denied::Unknown | Denied::Revoked { .. } => {
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

impl From<DeadlinePassed> for Refused {
    fn from(error: DeadlinePassed) -> Refused {
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

/// Lets handlers return each of these errors with `?`.
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
    SceneRegistryError,
    Ended,
    Denied,
    Panicked,
    UploadPaused,
    DeadlinePassed,
    WriterError,
    OverQuota,
    RoomRefused,
    WatchRefused
);
