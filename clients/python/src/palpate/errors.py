"""Errors of calls."""

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
# `ErrorInfo.reason` if another server has the scene.
_OWNED_ELSEWHERE = "SCENE_OWNED_ELSEWHERE"


class PalpateError(Exception):
    """Base of all errors of this package, except those of arguments (ValueError, TypeError) and
    files (OSError).
    """


class MeshWarning(UserWarning):
    """Something unusual about a mesh that was added, often a mistake: see the report's `warnings`."""


class Closed(PalpateError):
    """The connection or the loop was used after it was closed here."""


class NotStarted(PalpateError):
    """`palpate.start` found no server program, or the program ended; nothing is left running."""


class Unavailable(PalpateError):
    """No server answers at the address, the connection broke, or the server is shutting down.

    The outcome of a call in progress is unknown: send it again, names and ids identify it.

    Attributes:
        is_told: a server reported this itself: it shuts down, or a scene passes to another server.
    """

    def __init__(self, message: str, is_told: bool = False) -> None:
        super().__init__(message)
        self.is_told = is_told

    def __reduce__(self) -> tuple[Any, ...]:
        # Supports pickling, also between processes.
        return type(self), (str(self), self.is_told)


class Refused(PalpateError):
    """The server refused the call. Nothing was changed.

    Attributes:
        call: the call, for example `AddTissue`.
        code: name of the canonical code, for example `INVALID_ARGUMENT`.
        field: the invalid field, from the message's top, for example `tools[0].pose.orientation`;
            empty if the error concerns no field.
        subject: the resource, quota or precondition concerned, for example `scene`,
            `triangles_per_key`, `TOPOLOGY_REVISION`; empty if there is none.
        message: the received and the expected value.
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
    """The server does not know a scene, tissue, tool or session: `subject` says which."""


class AlreadyExists(Refused):
    """The scene's id, or the name in the scene, is in use."""


class ResourceExhausted(Refused):
    """A limit of the server or a quota of the key was exceeded: `subject` names it."""


class FailedPrecondition(Refused):
    """The call was made for another revision, or the scene is quarantined: `subject` says which."""


class Elsewhere(FailedPrecondition):
    """Another server has the scene. Calls, loops and streams follow the scene by themselves; this
    error remains if that server names yet another, and so on.

    Attributes:
        address: address of the owner as the refusing server gives it: host:port.
    """

    def __init__(self, call: str, code: str, message: str, address: str) -> None:
        super().__init__(call, code, message, subject="scene")
        self.address = address

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.call, self.code, self.message, self.address)


class Unauthenticated(Refused):
    """The call has no key, an unknown key, or a revoked one."""


class PermissionDenied(Refused):
    """The key's role does not allow the call, or the scene belongs to another key."""


class Aborted(Refused):
    """Another stream took the session."""


class DeadlineExceeded(Refused):
    """The call took too long. If the server reports this, the call was not executed; if the
    client's own clock does, the outcome is unknown.
    """


class Internal(Refused):
    """The server panicked: report it."""


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
    """Returns the error for a canonical code."""
    return _KINDS.get(code, Refused)(call, code, text, field, subject)


def of_status(address: str, call: str, error: grpc.RpcError) -> PalpateError:
    """Returns the error for a call that ended with `error`."""
    code, text = error.code(), error.details() or ""
    details = _details(error)
    # If a server dies, its proxy resets the stream, which the library reports as INTERNAL.
    is_reset = code is grpc.StatusCode.INTERNAL and "RST_STREAM" in text
    # No server is there to serve, whether the server, a proxy or the library reports it. A server never sends CANCELLED
    # or UNKNOWN.
    if is_reset or code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN):
        # Only servers attach details to a refusal; neither the library nor a proxy does.
        return Unavailable(f"nobody serves {call} at {address}: {text}", is_told=details is not None)
    owner = _owner(details or ())
    if owner:
        return Elsewhere(call, code.name, text, owner)
    return refused(call, code.name, text, *_about(details or ()))


def of_refusal(call: str, refusal: Any) -> Refused:
    """Returns the error for a refusal within an answer."""
    names = {code.value[0]: code.name for code in grpc.StatusCode}
    code = names.get(refusal.code, f"code {refusal.code}")
    text = refusal.message
    if refusal.field and refusal.field not in text:
        text = f"{refusal.field}: {text}"
    return refused(call, code, text, refusal.field)


def _details(error: grpc.RpcError) -> list[tuple[str, Any]] | None:
    """Returns the details of a status, each with its type; None if it has none."""
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
    """Returns the address of the scene's owner if the status names one; otherwise an empty string."""
    for name, detail in details:
        if name == _INFO and detail.reason == _OWNED_ELSEWHERE:
            return str(detail.metadata["address"])
    return ""


def _about(details: Iterable[tuple[str, Any]]) -> tuple[str, str]:
    """Returns field and subject."""
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
