from collections.abc import Mapping
from typing import Any

from boto3.session import Session
from samtranslator.parser.parser import Parser

class Translator:
    def __init__(
        self, managed_policy_map: Mapping[str, str], sam_parser: Parser, boto_session: Session
    ) -> None: ...
    def translate(
        self, sam_template: dict[str, Any], parameter_values: dict[str, str]
    ) -> dict[str, Any]: ...
