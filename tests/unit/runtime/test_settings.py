"""Settings come from the environment, read once."""

import ast
import inspect
from pathlib import Path

import pytest
from msgspec import ValidationError

from zero_memory.runtime.settings import Settings, read_settings


def test_each_setting_is_read_from_a_variable_of_its_name() -> None:
    found = read_settings(
        {
            "ZM_HOME": "aws",
            "ZM_TABLE_NAME": "memories",
            "ZM_CALLS_A_MINUTE": "120",
            "ZM_ALLOWED_ORIGINS": "https://a.example,https://b.example",
            "ZM_ALLOWED_HOSTS": "",
            "PATH": "/bin",
        }
    )
    assert (found.home, found.table_name, found.calls_a_minute) == ("aws", "memories", 120)
    assert found.allowed_origins == ("https://a.example", "https://b.example")
    assert found.allowed_hosts == ()


def test_what_is_given_wins_over_the_environment(tmp_path: Path) -> None:
    assert read_settings({"ZM_DATA_DIR": "/elsewhere"}, data_dir=tmp_path).data_dir == tmp_path


@pytest.mark.parametrize("name", ["ZM_HOME", "ZM_CALLS_A_MINUTE", "ZM_LOG_LEVEL"])
def test_a_value_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        read_settings({name: "nonsense"})


def test_every_setting_says_what_it_is_for() -> None:
    (declared,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(declared, ast.ClassDef)
    body = declared.body[1:]
    assert all(isinstance(each, ast.AnnAssign) for each in body[::2])
    assert all(isinstance(each, ast.Expr) for each in body[1::2])
    assert len(body) == 2 * len(Settings.__struct_fields__)
