"""The template that ships, as CloudFormation gets it: packaged, and translated by SAM itself."""

from collections.abc import Callable, Mapping
from typing import Any

from boto3.session import Session
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

from tests.samples import REPOSITORY

REGION = "eu-central-1"

Template = dict[str, Any]

_UPLOADED = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::CloudFormation::Stack": "TemplateURL",
}


def read_template(file: str = "template.yaml") -> Template:
    """A template of this repository, its intrinsic functions in their long form."""
    return yaml_parse((REPOSITORY / file).read_text(encoding="utf-8"))


def package(template: Template, upload: Callable[[str], str]) -> None:
    """Put URLs in place of a template's local paths, as `sam package` does.

    `upload` answers where it put what is at a path.
    """
    for resource in template["Resources"].values():
        local = _UPLOADED.get(resource["Type"])
        if local is not None:
            resource["Properties"][local] = upload(resource["Properties"][local])


def translate(template: Template, parameters: Mapping[str, str]) -> Template:
    """A packaged template without SAM's resources, as CloudFormation's transform answers it."""
    translator = Translator({}, Parser(), boto_session=Session(region_name=REGION))
    return translator.translate(template, parameter_values=dict(parameters))
