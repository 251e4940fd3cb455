"""Where this machine keeps data and configuration, by the platform's custom.

Standard library only: the client asks on every prompt of an editor, and `platformdirs` alone takes
longer to import than everything else that the client does. Paths are strings here for the same
reason: `pathlib` takes a bare Python as long again.
"""

import os
import sys

TABLE_FILE = "table.sqlite3"
"""In a home, what nothing else there can replace."""

_NAME = "zero-memory"


def data_folder() -> str:
    """The default home: `$XDG_DATA_HOME/zero-memory`, or the platform's equivalent."""
    return _folder("XDG_DATA_HOME", ".local/share")


def home_folder() -> str:
    """The service's home that this machine uses: `ZM_DATA_DIR`, else `data_folder()`."""
    return os.environ.get("ZM_DATA_DIR") or data_folder()


def config_folder() -> str:
    """The client's configuration: `$XDG_CONFIG_HOME/zero-memory`, or the platform's equivalent."""
    return _folder("XDG_CONFIG_HOME", ".config")


def _folder(variable: str, below_home: str) -> str:
    chosen = os.environ.get(variable, "")
    if os.path.isabs(chosen):  # a relative one is to be ignored, says the standard
        return os.path.join(chosen, _NAME)
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, _NAME)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", _NAME)
    return os.path.join(home, below_home, _NAME)
