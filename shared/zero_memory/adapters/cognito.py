"""Clients of a Cognito user pool, which has no dynamic registration of its own."""

import json
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004
from botocore.session import get_session

from zero_memory.ports.oauth_clients import ClientsUnavailable

CONFIG = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 2},
)

MAX_CLIENTS = 500
"""The most that a pool is filled up to: half of what AWS allows by default."""

_PAGE = 60  # ListUserPoolClients' limit
_PREFIX = "mcp-"

_log = logging.getLogger(__name__)


def cognito_client() -> Any:
    """A client by the environment's region and credentials, with timeouts and bounded retries."""
    session: Any = get_session()
    return session.create_client("cognito-idp", config=CONFIG)


class CognitoClients:
    """`ports.oauth_clients.OAuthClients` in a user pool."""

    def __init__(self, client: Any, user_pool: str) -> None:
        self._client = client
        self._user_pool = user_pool

    def register(
        self, name: str, redirect_uris: Sequence[str], scopes: Sequence[str]
    ) -> str | None:
        """See the port."""
        called = _called(name, redirect_uris)
        with _translated():
            known = self._known()
            if called in known:
                return known[called]
            if len(known) >= MAX_CLIENTS:
                return None
            made = self._client.create_user_pool_client(
                UserPoolId=self._user_pool,
                ClientName=called,
                GenerateSecret=False,
                CallbackURLs=list(redirect_uris),
                AllowedOAuthFlows=["code"],
                AllowedOAuthFlowsUserPoolClient=True,
                AllowedOAuthScopes=list(scopes),
                SupportedIdentityProviders=["COGNITO"],
                PreventUserExistenceErrors="ENABLED",
                EnableTokenRevocation=True,
                ExplicitAuthFlows=["ALLOW_REFRESH_TOKEN_AUTH"],
                AccessTokenValidity=60,
                RefreshTokenValidity=30,
                TokenValidityUnits={"AccessToken": "minutes", "RefreshToken": "days"},
            )
            return made["UserPoolClient"]["ClientId"]

    def _known(self) -> dict[str, str]:
        """The ids of the pool's clients by their names."""
        known: dict[str, str] = {}
        more: dict[str, str] = {}
        while True:
            page = self._client.list_user_pool_clients(
                UserPoolId=self._user_pool, MaxResults=_PAGE, **more
            )
            known |= {each["ClientName"]: each["ClientId"] for each in page["UserPoolClients"]}
            if "NextToken" not in page:
                return known
            more = {"NextToken": page["NextToken"]}


def _called(name: str, redirect_uris: Sequence[str]) -> str:
    """A pool's name for a client: a digest, since Cognito takes few characters."""
    said = json.dumps([name, sorted(redirect_uris)])
    return _PREFIX + sha256(said.encode()).hexdigest()[:40]


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except ClientError as error:
        # What an operator can mend: a missing right, a limit of the account.
        _log.error("no client registered: %s", error.response.get("Error", {}).get("Code"))
        raise ClientsUnavailable from error
    except (ConnectionError, HTTPClientError) as error:
        raise ClientsUnavailable from error
