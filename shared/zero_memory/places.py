"""Where this machine keeps data and configuration, by the platform's custom.

Standard library only: the client asks on every prompt of an editor, and `platformdirs` alone takes
longer to import (about 30 ms) than everything else that the client does.
"""

import os
import sys
from pathlib import Path

_NAME = "zero-memory"


def data_folder() -> Path:
    """The service's home: `$XDG_DATA_HOME/zero-memory`, or the platform's equivalent."""
    return _folder("XDG_DATA_HOME", ".local/share")


def config_folder() -> Path:
    """The client's configuration: `$XDG_CONFIG_HOME/zero-memory`, or the platform's equivalent."""
    return _folder("XDG_CONFIG_HOME", ".config")


def _folder(variable: str, below_home: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen and Path(chosen).is_absolute():  # a relative one is to be ignored, says the standard
        return Path(chosen) / _NAME
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / _NAME
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / _NAME
    return Path.home() / below_home / _NAME
