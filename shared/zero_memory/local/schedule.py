"""EventBridge's schedules on one machine: the template's rates, kept by threads."""

import logging
import threading
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from zero_memory.local.deployment import Schedule
from zero_memory.local.functions import ACCOUNT, REGION, Invoke, without_message

_logger = logging.getLogger(__name__)


def schedule_event(schedule: Schedule, at: datetime) -> dict[str, Any]:
    """What EventBridge hands a function when a rule of this schedule is due."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{schedule.name}"],
        "detail": {},
    }


class Schedules:
    """Calls each function when it is due, for the first time after one period."""

    def __init__(self, schedules: Sequence[Schedule], invoke: Invoke) -> None:
        self._invoke = invoke
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(each,), name=each.name, daemon=True)
            for each in schedules
        ]

    def start(self) -> None:
        """Start the clocks."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after the calls in hand."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, schedule: Schedule) -> None:
        while not self._stopping.wait(schedule.every_s):
            try:
                self._invoke(schedule.function, schedule_event(schedule, datetime.now(UTC)))
            except Exception as error:  # noqa: BLE001 - it is due again, whatever became of it
                _logger.error("%s failed: %s", schedule.function.name, without_message(error))  # noqa: TRY400
