"""What the commands print, made harmless for the terminal that shows it."""

import io

_KEPT = "\n\t"
_VISIBLE = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _KEPT
}


class HarmlessText(io.TextIOWrapper):
    r"""A stream that shows control characters in place of sending them.

    What is remembered comes from anywhere, and a terminal obeys escape sequences in it: they
    retitle windows, move text, answer as if somebody typed. They come out as `\u001b`, in files and
    pipes too, since those end in terminals. JSON so written reads as it was. Ends of lines and tabs
    stay.
    """

    def write(self, text: str, /) -> int:
        """Write text, UTF-8; answers its length."""
        super().write(text.replace("\r\n", "\n").translate(_VISIBLE))
        return len(text)
