"""Memories that wait in a queue of SQS, to be looked at again."""

import json
from collections.abc import Sequence
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from zero_memory.ports.parking import ParkingUnavailable

CONFIG = Config(
    connect_timeout=1,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 3},
)

_BATCH = 10
"""SendMessageBatch takes no more."""


def sqs_client() -> Any:
    """A client by the environment's region and credentials, with timeouts and bounded retries."""
    session: Any = get_session()
    return session.create_client("sqs", config=CONFIG)


def parked_memory(body: str) -> str:
    """The id of the memory that a message names."""
    return json.loads(body)["memory_id"]


def parking_body(memory_id: str) -> str:
    """The message that names a memory."""
    return json.dumps({"memory_id": memory_id})


class SqsParking:
    """`ports.parking.Parking` in a queue that the template made."""

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def park(self, memory_ids: Sequence[str]) -> None:
        """See the port."""
        for start in range(0, len(memory_ids), _BATCH):
            entries = [
                {"Id": str(number), "MessageBody": parking_body(memory_id)}
                for number, memory_id in enumerate(memory_ids[start : start + _BATCH])
            ]
            try:
                answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
            except (BotoCoreError, ClientError) as failure:
                raise ParkingUnavailable(type(failure).__name__) from failure
            if answer.get("Failed"):
                raise ParkingUnavailable("a part of the batch was not taken")
