"""Files that a command writes: whole, or not at all."""

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

_DRAFT = re.compile(r"(.+)\.([0-9]{1,9})\.part")


@contextmanager
def replacing(path: str) -> "Generator[IO[bytes]]":
    """A file for its owner alone that takes the place of `path` once it is written whole.

    Until then it has a name of this process's own, so that of several commands the last one wins.
    Raises OSError, which names `path`.
    """
    draft = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
        os.replace(draft, path)
    except BaseException as failure:
        with suppress(FileNotFoundError):
            os.remove(draft)
        if isinstance(failure, OSError) and failure.filename in {None, draft}:
            raise OSError(failure.errno, failure.strerror, path) from failure
        raise


def abandoned(name: str) -> str | None:
    """The name of the file whose draft this is, when nobody writes it any more; otherwise None."""
    draft = _DRAFT.fullmatch(name)
    return None if draft is None or _runs(int(draft[2])) else draft[1]


def _runs(process: int) -> bool:
    if sys.platform == "win32":
        return False  # there, nobody can remove a file that is open
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True
