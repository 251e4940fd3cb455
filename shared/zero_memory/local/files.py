"""Small private files that survive a crash: the old content or the new, never half."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace a file's content; only its owner may read it (mode 0600).

    Raises OSError, which names the file that could not be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, str(path)) from failure
