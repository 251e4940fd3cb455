"""Where a machine keeps data and configuration."""

from pathlib import Path

import pytest

from zero_memory import places


@pytest.fixture(autouse=True)
def a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "data", "config"),
    [
        ("linux", ".local/share/zero-memory", ".config/zero-memory"),
        ("darwin", "Library/Application Support/zero-memory", None),
        ("win32", "AppData/Local/zero-memory", None),
    ],
)
def test_each_platform_has_its_custom(
    monkeypatch: pytest.MonkeyPatch, a_home: Path, platform: str, data: str, config: str | None
) -> None:
    monkeypatch.setattr(places.sys, "platform", platform)

    assert Path(places.data_folder()) == a_home / data
    assert Path(places.config_folder()) == a_home / (config or data)


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_xdg_variables_decide_where_they_are_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str
) -> None:
    monkeypatch.setattr(places.sys, "platform", platform)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    assert Path(places.data_folder()) == tmp_path / "data" / "zero-memory"
    assert Path(places.config_folder()) == tmp_path / "config" / "zero-memory"


def test_a_relative_xdg_variable_is_ignored(monkeypatch: pytest.MonkeyPatch, a_home: Path) -> None:
    monkeypatch.setattr(places.sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")

    assert Path(places.data_folder()) == a_home / ".local" / "share" / "zero-memory"
