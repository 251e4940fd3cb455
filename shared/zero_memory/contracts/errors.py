"""The seven error codes of the contract, and the one exception that carries them."""

from enum import StrEnum
from typing import Any


class ErrorCode(StrEnum):
    """What went wrong, for programs; `http_status` is its HTTP status."""

    VALIDATION_FAILED = "validation_failed"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    RATE_LIMITED = "rate_limited"
    INTERNAL = "internal"

    @property
    def http_status(self) -> int:
        """The HTTP status of an answer with this code."""
        return _HTTP_STATUS[self]


_HTTP_STATUS = {
    ErrorCode.VALIDATION_FAILED: 400,
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.FORBIDDEN: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.CONFLICT: 409,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.INTERNAL: 500,
}


DAMAGED = (
    "A memory that this is about is damaged where it is stored; ask who runs the service to mend "
    "it."
)
"""What a person is told of a record that can't be read."""


class Refusal(Exception):
    """A request that is answered with an error.

    Raised where the failure happens and mapped to HTTP and MCP once, at the entry point.
    `message` is for a person and says what to do next; it never repeats the request's content.
    """

    def __init__(
        self, code: ErrorCode, message: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        """The error body that HTTP and MCP share: `{"error": {code, message, details?}}`."""
        error: dict[str, Any] = {"code": self.code.value, "message": self.message}
        if self.details is not None:
            error["details"] = self.details
        return {"error": error}


def validation_failed(message: str, details: dict[str, Any] | None = None) -> Refusal:
    """A request that its sender must change before it can succeed."""
    return Refusal(ErrorCode.VALIDATION_FAILED, message, details)


def not_found(message: str) -> Refusal:
    """What was named does not exist, or the caller may not know that it does."""
    return Refusal(ErrorCode.NOT_FOUND, message)


def conflict(message: str, details: dict[str, Any] | None = None) -> Refusal:
    """The state changed under the caller, or a name is taken."""
    return Refusal(ErrorCode.CONFLICT, message, details)


def forbidden(message: str) -> Refusal:
    """The caller may see this, but may not do it."""
    return Refusal(ErrorCode.FORBIDDEN, message)


def unauthorized(message: str) -> Refusal:
    """The caller did not prove who it is."""
    return Refusal(ErrorCode.UNAUTHORIZED, message)
