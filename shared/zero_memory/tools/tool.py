"""What a tool is: one object that HTTP, MCP and Lambda serve alike."""

from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Grant
from zero_memory.tools.services import Services

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)

Need = Literal["table", "index", "embedder", "artifacts"]


class Annotations(Struct, frozen=True):
    """MCP's hints on what a call may do."""

    read_only: bool
    destructive: bool
    idempotent: bool


class Tool(Struct, Generic[In, Out], frozen=True):
    """A tool: what a model reads of it, what goes in and out, and the call.

    `needs` names the ports that the call uses, so that a cold start loads them and no others.
    `grant` is what a token must hold. `run` raises `Refusal` and no other error of its own.
    """

    name: str
    title: str
    description: str
    input: type[In]
    output: type[Out]
    annotations: Annotations
    grant: Grant
    needs: frozenset[Need]
    run: Callable[[Services, Caller, In], Out]
