"""The beginning of a text, for lists."""

_ELLIPSIS = " …"


def preview(text: str, limit: int) -> tuple[str, bool]:
    """The text on one line, cut between words to at most `limit` characters; and whether it was.

    A text without blanks is cut where the limit falls.
    """
    line = " ".join(text.split())
    if len(line) <= limit:
        return line, False
    room = limit - len(_ELLIPSIS)
    cut = line.rfind(" ", room // 2, room + 1)
    return line[: cut if cut > 0 else room] + _ELLIPSIS, True
