"""Schedules of the template, as a machine keeps them."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.samples import sample
from zero_memory.local.deployment import Function, Schedule, read_deployment
from zero_memory.local.schedule import Schedules, schedule_event

TICK = Schedule("Due", Function("tick", Path("app.py"), "handler", 512, 60), 0)


def shape(event: dict[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in event.items()}


def test_an_event_has_the_shape_of_the_sample_that_the_cloud_sends() -> None:
    event = schedule_event(TICK, datetime(2026, 11, 30, 10, tzinfo=UTC))

    assert shape(event) == shape(sample("schedule"))
    assert event["time"] == sample("schedule")["time"]
    assert event["detail-type"] == sample("schedule")["detail-type"]


def test_a_function_is_called_at_its_rate_whatever_it_raises() -> None:
    called = threading.Semaphore(0)

    def invoke(function: Function, event: dict[str, Any]) -> None:
        called.release()
        raise RuntimeError

    schedules = Schedules([replace(TICK, every_s=0)], invoke)
    schedules.start()
    assert all(called.acquire(timeout=30) for _ in range(3))
    schedules.stop()


def test_a_schedule_that_a_machine_cannot_keep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(
        """
Globals: {Function: {MemorySize: 512, Timeout: 10, Handler: app.handler}}
Resources:
  Tick:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/tick
      Events:
        Due: {Type: Schedule, Properties: {Schedule: "cron(0 12 * * ? *)"}}
"""
    )
    with pytest.raises(ValueError, match="rate"):
        read_deployment(tmp_path)
