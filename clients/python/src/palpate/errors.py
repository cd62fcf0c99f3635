"""Why a call did not do what it should."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc

from .contract import message

_DETAILS = "google.rpc.Status"
_INFO = "google.rpc.ErrorInfo"
_REQUEST = "google.rpc.BadRequest"
_RESOURCE = "google.rpc.ResourceInfo"
_QUOTA = "google.rpc.QuotaFailure"
_PRECONDITION = "google.rpc.PreconditionFailure"
_TOLD = {_INFO, _REQUEST, _RESOURCE, _QUOTA, _PRECONDITION}
# The reason of an ErrorInfo when another server has the scene.
_OWNED_ELSEWHERE = "SCENE_OWNED_ELSEWHERE"


class PalpateError(Exception):
    """The root of all errors of this package but those of arguments (ValueError, TypeError) and files (OSError)."""


class Closed(PalpateError):
    """The connection or the loop was closed here, and is used all the same."""


class Unavailable(PalpateError):
    """Nobody answers at the address, the connection broke, or the server is shutting down.

    What became of a call that was under way is unknown: ask again, names and ids are its key.

    Attributes:
        is_told: a server says so itself: it ends, or a scene passes to another server.
    """

    def __init__(self, message: str, is_told: bool = False) -> None:
        super().__init__(message)
        self.is_told = is_told

    def __reduce__(self) -> tuple[Any, ...]:
        # From one process to another too.
        return type(self), (str(self), self.is_told)


class Refused(PalpateError):
    """The server refused. Nothing was changed.

    Attributes:
        call: what was asked, `AddTissue`.
        code: the canonical code's name, `INVALID_ARGUMENT`.
        field: the field at fault, from the message's top, `tools[0].pose.orientation`; empty when it is about none.
        subject: the resource, quota or precondition that it is about, `scene`, `triangles_per_key`,
            `TOPOLOGY_REVISION`; empty when it is about none.
        message: what was got and what was expected.
    """

    def __init__(self, call: str, code: str, message: str, field: str = "", subject: str = "") -> None:
        super().__init__(f"{call} was refused ({code}): {message}")
        self.call = call
        self.code = code
        self.field = field
        self.subject = subject
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.call, self.code, self.message, self.field, self.subject)


class InvalidArgument(Refused):
    """A field is malformed: `field` names it."""


class NotFound(Refused):
    """A scene, tissue, tool or session that the server does not know: `subject` says which of them."""


class AlreadyExists(Refused):
    """The scene's id, or the name in the scene, is taken."""


class ResourceExhausted(Refused):
    """Over a limit of the server or a quota of the key: `subject` names it."""


class FailedPrecondition(Refused):
    """Made for another revision, or the scene is quarantined: `subject` says which."""


class Elsewhere(FailedPrecondition):
    """Another server has the scene. Calls, loops and streams go there by themselves; this is what is left when that one
    names yet another, and so on.

    Attributes:
        address: of the owner, as that server tells it: host:port.
    """

    def __init__(self, call: str, code: str, message: str, address: str) -> None:
        super().__init__(call, code, message, subject="scene")
        self.address = address

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.call, self.code, self.message, self.address)


class Unauthenticated(Refused):
    """No key, none that the server knows, or it was revoked."""


class PermissionDenied(Refused):
    """The key's role is too small, or the scene is another key's."""


class Aborted(Refused):
    """Another stream took the session."""


class DeadlineExceeded(Refused):
    """It took too long. The server did not do it, if the server says so; a client's own clock leaves that open."""


class Internal(Refused):
    """A panic of the server: report it."""


_KINDS: dict[str, type[Refused]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "FAILED_PRECONDITION": FailedPrecondition,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "ABORTED": Aborted,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "INTERNAL": Internal,
}


def refused(call: str, code: str, text: str, field: str = "", subject: str = "") -> Refused:
    """The error for a canonical code."""
    return _KINDS.get(code, Refused)(call, code, text, field, subject)


def of_status(address: str, call: str, error: grpc.RpcError) -> PalpateError:
    """The error for a call that ended so."""
    code, text = error.code(), error.details() or ""
    details = _details(error)
    # A proxy whose server dies resets the stream, which the library calls INTERNAL.
    is_reset = code is grpc.StatusCode.INTERNAL and "RST_STREAM" in text
    # Whether the server, a proxy or the library says so: nobody is there to serve. The other two the server never says.
    if is_reset or code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN):
        # Servers describe what they refuse; neither the library nor a proxy does.
        return Unavailable(f"nobody serves {call} at {address}: {text}", is_told=details is not None)
    owner = _owner(details or ())
    if owner:
        return Elsewhere(call, code.name, text, owner)
    return refused(call, code.name, text, *_about(details or ()))


def of_refusal(call: str, refusal: Any) -> Refused:
    """The error for a refusal within an answer."""
    names = {code.value[0]: code.name for code in grpc.StatusCode}
    code = names.get(refusal.code, f"code {refusal.code}")
    text = refusal.message
    if refusal.field and refusal.field not in text:
        text = f"{refusal.field}: {text}"
    return refused(call, code, text, refusal.field)


def _details(error: grpc.RpcError) -> list[tuple[str, Any]] | None:
    """What a status brings along, each with its type; None: it brings nothing."""
    trailing: list[Any] = list(error.trailing_metadata() or ())
    packed = dict(trailing).get("grpc-status-details-bin")
    if packed is None:
        return None
    found = []
    for any_detail in message(_DETAILS).FromString(packed).details:
        name = any_detail.type_url.rpartition("/")[2]
        if name in _TOLD:
            found.append((name, message(name).FromString(any_detail.value)))
    return found


def _owner(details: Iterable[tuple[str, Any]]) -> str:
    """Where the scene is served, when that is what a status says; else empty."""
    for name, detail in details:
        if name == _INFO and detail.reason == _OWNED_ELSEWHERE:
            return str(detail.metadata["address"])
    return ""


def _about(details: Iterable[tuple[str, Any]]) -> tuple[str, str]:
    """Field and subject."""
    field = subject = ""
    for name, detail in details:
        if name == _REQUEST:
            for violation in detail.field_violations:
                field = violation.field
        elif name == _RESOURCE:
            subject = detail.resource_type
        elif name == _QUOTA:
            for violation in detail.violations:
                subject = violation.subject
        elif name == _PRECONDITION:
            for violation in detail.violations:
                subject, field = violation.type, violation.subject
    return field, subject
