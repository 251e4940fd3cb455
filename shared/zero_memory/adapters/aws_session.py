"""A session of botocore that makes its clients quickly.

To make one client, botocore looks into the folders of all 400 services, twice, and reads 1.2 MB of
endpoints of all of them. That was more than half of what a client takes.
"""

from pathlib import Path
from typing import Any

from botocore.loaders import Loader
from botocore.session import Session, get_session

_SERVICES = ["dynamodb", "s3"]


class _RulesAlone(Loader):
    """Botocore's own data, of the services that are used here.

    Without the table of endpoints, which the rules that a service brings along replace.
    """

    def list_available_services(self, type_name: str) -> list[str]:
        """Only asked whether a service exists."""
        del type_name
        return _SERVICES

    def load_data_with_path(self, name: str) -> tuple[Any, str]:
        """The data, and where it is from: with a table of its own, botocore follows the rules."""
        if name == "endpoints":
            return {"version": 3, "partitions": []}, str(Path(self.BUILTIN_DATA_PATH, name))
        return super().load_data_with_path(name)


def aws_session() -> Session:
    """A session by the environment's region and credentials, for clients of `_SERVICES`.

    Of botocore alone: boto3 around it takes a quarter of a cold start, for what is unused.
    """
    session = get_session()
    session.register_component("data_loader", _RulesAlone())
    return session
