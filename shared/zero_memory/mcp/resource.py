"""A family of resources that one URI template names."""

import re
from collections.abc import Callable

from msgspec import Struct
from pydantic import BaseModel

from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Grant
from zero_memory.tools.services import Services


class ResourceTemplate(Struct, frozen=True):
    """What a client reads of the family, and the read, which takes a whole URI.

    `uri_template` holds one variable, in braces; `variable` is the pattern of its values. `read`
    answers what becomes the resource's JSON text; it raises `Refusal` and no other error of its
    own.
    """

    uri_template: str
    variable: str
    name: str
    title: str
    description: str
    grant: Grant
    read: Callable[[Services, Caller, str], BaseModel]

    def names(self, uri: str) -> bool:
        """Whether the URI is one of this family."""
        before, _, rest = self.uri_template.partition("{")
        after = rest.partition("}")[2]
        pattern = f"{re.escape(before)}(?:{self.variable}){re.escape(after)}"
        return re.fullmatch(pattern, uri) is not None
