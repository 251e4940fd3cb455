"""What a request's headers must say before anything of it is believed: Host, Origin, the token."""

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from zero_memory.contracts.errors import forbidden, unauthorized, validation_failed
from zero_memory.runtime.settings import Settings

MACHINE_LENGTH = 200


def check_addressed_here(headers: Mapping[str, str], settings: Settings) -> None:
    """Refuse what a web page could make a browser send (DNS rebinding, cross-site requests).

    With `allowed_hosts`, Host must name one of them, and an Origin must be on one of them. Behind
    an API, which checks Host itself, an Origin must be the request's own: on its Host, or on the
    one that the edge was asked for (X-Forwarded-Host, which no page can set without a preflight,
    and none is granted). `allowed_origins` are welcome besides. Raises Refusal forbidden.
    """
    host = _host_name(headers.get("host", ""))
    if settings.allowed_hosts and host not in settings.allowed_hosts:
        raise forbidden("This service does not answer to that host name. Use the URL it printed.")
    origin = headers.get("origin")
    if origin is None or origin in settings.allowed_origins:
        return
    origin_host = _host_name(origin.partition("://")[2])
    own = settings.allowed_hosts or (host, _host_name(headers.get("x-forwarded-host", "")))
    if not origin_host or origin_host not in own:
        raise forbidden(
            "Web pages of that origin may not call this service; whoever runs it can allow the "
            "origin by ZM_ALLOWED_ORIGINS."
        )


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token in the Authorization header; raises Refusal unauthorized when there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise unauthorized("Send your access token as Authorization: Bearer <token>.")
    return token


def machine_of(headers: Mapping[str, str]) -> str:
    """What the client calls its machine (`Zm-Machine`); "" when it does not say.

    Paths are remembered under it, so that one path on two machines may be two projects.
    Raises Refusal validation_failed.
    """
    machine = headers.get("zm-machine", "")
    if len(machine) > MACHINE_LENGTH:
        raise validation_failed(f"Zm-Machine has at most {MACHINE_LENGTH} characters.")
    return machine


def _host_name(authority: str) -> str | None:
    """The host of `host[:port]`, an IPv6 address in its brackets; None when it is malformed."""
    try:
        parts: SplitResult = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return None
    if parts.netloc != authority or parts.username is not None or parts.hostname is None:
        return None
    return f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
