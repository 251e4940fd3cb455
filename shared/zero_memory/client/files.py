"""Files that a command writes: whole, or not at all."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


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
