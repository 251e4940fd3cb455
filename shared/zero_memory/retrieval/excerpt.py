"""The part of a text that answers a query."""

_ELLIPSIS = "…"


def excerpt(text: str, start: int, end: int, limit: int) -> tuple[str, bool]:
    """At most `limit` characters of the text's window from `start` to `end`, and if it was cut.

    A text that fits comes whole. Where the excerpt does not begin or end with the text it says so
    with an ellipsis; cuts fall between words where there are any.
    """
    if len(text) <= limit:
        return text, False
    first = min(start, max(0, len(text) - limit)) if end > start else 0
    last = min(first + limit, len(text))
    if first > 0:
        blank = text.find(" ", first, first + limit // 4)
        first = blank + 1 if blank >= 0 else first
    if last < len(text):
        blank = text.rfind(" ", last - limit // 4, last)
        last = blank if blank > first else last
    lead = f"{_ELLIPSIS} " if first > 0 else ""
    trail = f" {_ELLIPSIS}" if last < len(text) else ""
    return f"{lead}{text[first:last].strip()}{trail}", True
