"""How a command fails: a sentence for standard error, and an exit code."""

REFUSED = 1
USAGE = 2
UNREACHABLE = 3


class Failure(Exception):
    """Ends the command. The message says what to do next."""

    def __init__(self, message: str, *, exit_code: int = REFUSED) -> None:
        super().__init__(message)
        self.exit_code = exit_code
