"""Python client of Palpate, a haptic collision service for virtual surgery.

Units are metres, seconds and radians. Frames are right-handed, triangles counter-clockwise seen
from outside, quaternions x, y, z, w. A signed distance is negative inside.
"""

from importlib.metadata import version

from .answers import ContactState, FeatureKind, Flag, RenderState, SignRule, TissueKind, UnsweptReason
from .batch import Batch, BatchAnswer
from .binding import Binding, bind
from .deformations import Deformations
from .errors import (
    Aborted,
    AlreadyExists,
    Closed,
    DeadlineExceeded,
    Elsewhere,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    MeshWarning,
    NotFound,
    NotStarted,
    PalpateError,
    PermissionDenied,
    Refused,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from .feel import Material
from .haptic_loop import HapticLoop
from .loop_options import Render, Report
from .mesh import Link, MeshLike, Probe
from .pose import Pose, PoseLike
from .program import StartedServer, find_program, start
from .scene import Scene, SelfCollisions
from .server import Server, connect
from .servo import Device, Servo, ServoFlag, Wrench
from .skin import Skin, bind_skin
from .surface import Surface
from .tissue import Motion, Tissue
from .tool import Tool
from .tool_pose import ToolPose
from .tube import Tube

__version__ = version("palpate")

__all__ = [
    "Aborted",
    "AlreadyExists",
    "Batch",
    "BatchAnswer",
    "Binding",
    "Closed",
    "ContactState",
    "DeadlineExceeded",
    "Deformations",
    "Device",
    "Elsewhere",
    "FailedPrecondition",
    "FeatureKind",
    "Flag",
    "HapticLoop",
    "Internal",
    "InvalidArgument",
    "Link",
    "Material",
    "MeshLike",
    "Motion",
    "MeshWarning",
    "NotFound",
    "NotStarted",
    "PalpateError",
    "PermissionDenied",
    "Pose",
    "PoseLike",
    "Probe",
    "Refused",
    "Render",
    "RenderState",
    "Report",
    "ResourceExhausted",
    "Scene",
    "SelfCollisions",
    "Server",
    "Servo",
    "ServoFlag",
    "SignRule",
    "Skin",
    "StartedServer",
    "Surface",
    "Tissue",
    "TissueKind",
    "Tool",
    "ToolPose",
    "Tube",
    "Unauthenticated",
    "Unavailable",
    "UnsweptReason",
    "Wrench",
    "bind",
    "bind_skin",
    "connect",
    "find_program",
    "start",
]
