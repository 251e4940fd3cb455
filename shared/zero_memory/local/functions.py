"""Lambda on one machine: loads a function's handler and calls it with a context like Lambda's."""

import importlib.util
import time
import traceback
import uuid
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from zero_memory.local.deployment import Function

REGION = "local"
ACCOUNT = "000000000000"

Handler = Callable[[dict[str, Any], "LambdaContext"], Any]
Invoke = Callable[[Function, dict[str, Any]], Any]


class LambdaContext(Struct, frozen=True):
    """What Lambda hands a handler beside the event."""

    function_name: str
    memory_limit_in_mb: int
    timeout_s: int
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    started: float = field(default_factory=time.monotonic)

    @property
    def invoked_function_arn(self) -> str:
        """An ARN of Lambda's form, in no region."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        """The name that Lambda gives a function's log group."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        """One stream a machine."""
        return REGION

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function's own timeout."""
        spent = time.monotonic() - self.started
        return max(0, int((self.timeout_s - spent) * 1000))


def load_handler(function: Function) -> Handler:
    """Import a function's handler under a module name of its own, as each is called `app`."""
    name = f"zero_memory_function_{function.name}"
    spec = importlib.util.spec_from_file_location(name, function.file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"The template's function {function.name} has no handler file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function.attribute)


def invoker(functions: tuple[Function, ...]) -> Invoke:
    """Load every function and answer what calls them by it, from any thread."""
    handlers = {function.name: load_handler(function) for function in functions}

    def invoke(function: Function, event: dict[str, Any]) -> Any:
        context = LambdaContext(function.name, function.memory_mb, function.timeout_s)
        return handlers[function.name](event, context)

    return invoke


def without_message(error: BaseException) -> str:
    """What to log of an error: its type and place. Its message may hold what a person wrote."""
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
