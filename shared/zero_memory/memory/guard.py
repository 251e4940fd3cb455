"""The content guard: refuses text that holds a credential of a known format.

It looks for formats that their issuers document, never for entropy, so that hashes, ids, e-mail
addresses and images pass. A text is read three ways: as sent; folded (NFKC, without invisible
characters and combining marks); and decoded (JSON, string and percent escapes). In each, a token
counts as written when its prefix and body stand together, and as broken when line breaks or other
separators stand inside it; what lies between the prefix and the length that the format needs must
then look random rather than like words, since prose that speaks of a prefix is no credential.

What passes although it has the shape, since it can't be anyone's credential:

- the word "example", "placeholder" or "redacted" in it, as vendors write documented samples
  (`AKIA…EXAMPLE`), or eight `x` or sixteen zeros in a row, but not behind a whole credential;
- a body that is words joined by separators (`sk-proj-put-the-key-of-your-project-here`);
- in a URL, a password that is marked as to be filled in: `$NAME`, `$db_password`, `${name}`,
  `<name>`, `{name}`, `[name]`, `%s`, `***`, `xxx`, `your-…`, or an upper-case name such as
  `PASSWORD`; but `$` before other letters or mixed case is how a password may begin.

Encodings that hide the format itself (base64 of a token, a cipher, letters of another script that
look alike) are not undone. All patterns are linear in the length of the text: neighbouring
repeats never match the same character, or are bounded.
"""

import base64
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise, takewhile

from msgspec import Struct

from zero_memory.contracts.errors import validation_failed
from zero_memory.scopes.hints import NO_PORT


class Secret(Struct, frozen=True):
    """A credential that was found.

    `detector` names its format; `lead` is the few characters that are safe to show: the public
    prefix of the format, or at most three characters of a value that has none.
    """

    detector: str
    lead: str


def find_secret(text: str) -> Secret | None:
    """The first credential of a known format in a text, or None."""
    for reading in _readings(text):
        squeezed = reading.encode("ascii", "ignore").translate(None, _NOT_ALNUM).decode()
        for detect in _DETECTORS:
            if secret := detect(reading, squeezed):
                return secret
    return None


def refuse_secrets(fields: Iterable[tuple[str, str]]) -> None:
    """Refuses a call of which a text field, given as (name, text), holds a credential.

    The refusal is `validation_failed`, its message begins `secret_content_rejected:`, names field
    and detector and shows the lead of the secret, and nothing else of the text.
    """
    for name, text in fields:
        if secret := find_secret(text):
            raise validation_failed(
                f"secret_content_rejected: `{name}` holds what looks like a credential "
                f"({secret.detector}, {secret.lead}…). Nothing was stored or searched. Take it "
                "out, or write a placeholder such as <token> in its place and say where it is "
                "kept; if it is real, revoke it, since it has left its place.",
                {"field": name, "detector": secret.detector},
            )


def text_leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Every string of a JSON value, keys too, as fields of one name for `refuse_secrets`.

    A string below a key, alone or in lists, comes with its key, and with the nearest key above that
    is a label by which a format is known, since some are known by their label alone. The name says
    nothing of the path, because a key may be what must not be shown.
    """
    pending: list[tuple[tuple[str, ...], object]] = [((), value)]
    while pending:
        labels, leaf = pending.pop()
        match leaf:
            case str(text):
                if not labels:
                    yield name, text
                for label in labels:
                    yield name, f'{label}: "{text}"'
            case dict(members):  # pyright: ignore[reportUnknownVariableType]
                known = next(filter(_is_label, labels), None)
                for key, member in members.items():  # pyright: ignore[reportUnknownVariableType]
                    nearest = str(key)  # pyright: ignore[reportUnknownArgumentType]
                    yield name, nearest
                    below = (nearest,) if known is None else (nearest, known)
                    pending.append((below, member))  # pyright: ignore[reportUnknownArgumentType]
            case list(members):  # pyright: ignore[reportUnknownVariableType]
                for member in members:  # pyright: ignore[reportUnknownVariableType]
                    pending.append((labels, member))  # pyright: ignore[reportUnknownArgumentType]  # noqa: PERF401
            case _:
                pass


def _is_label(key: str) -> bool:
    """Whether a format is known by this key alone."""
    return any(label.search(f"{key}:") for label in (_AWS_LABEL, _AZURE_LABEL))


_ALNUM = re.compile(r"[A-Za-z0-9]+")
_NOT_ALNUM = bytes(code for code in range(128) if not chr(code).isalnum())
_SEPARATOR = r"(?:_|[^\w\[\](){}<^$?])"
_STEP = re.compile(rf"(?P<gap>{_SEPARATOR}{{0,64}})(?P<piece>[A-Za-z0-9]{{1,128}})")


def _readings(text: str) -> Iterable[str]:
    """The text as sent, folded and decoded, each once."""
    folded = _fold(text)
    decoded = folded
    for _ in range(3):  # escapes inside escapes: JSON in JSON, a URL in a URL's query
        plainer = _ESCAPE.sub(_unescape, decoded) if "\\" in decoded else decoded
        plainer = _PERCENT.sub(_unquote, plainer) if "%" in plainer else plainer
        if plainer == decoded:
            break
        decoded = plainer
    return dict.fromkeys((text, folded, _fold(decoded)))


def _fold(text: str) -> str:
    """NFKC, without invisible characters and combining marks."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    dropped = {
        ord(character): None
        for character in set(text)
        if character in _FILLERS
        or (unicodedata.category(character) in {"Cf", "Cc", "Mn", "Me"} and not character.isspace())
    }
    return text.translate(dropped) if dropped else text


_FILLERS = frozenset("\u115f\u1160\u2800\u3164")  # letters and symbols that show as nothing

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([nrtfv])|([\"'`/\\]))")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def _unescape(escape: re.Match[str]) -> str:
    four, two, blank, itself = escape.groups()
    if code := four or two:
        return chr(int(code, 16))
    return "\n" if blank else itself


def _unquote(run: re.Match[str]) -> str:
    return bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "replace")


# What tells a credential from words

_PLACEHOLDER = re.compile(r"(?i:example|placeholder|redacted|x{8})|0{16}")
_WORDLIKE = re.compile(
    r"[A-Z]?[a-z]{1,23}|[A-Z]{2,24}|\d{1,4}"
    r"|(?:[a-z]{2,12}|[A-Z][a-z]{2,12}|[A-Z]{2,12})(?:[A-Z][a-z]{2,12}){0,3}\d{0,2}"
)


def _is_word(piece: str) -> bool:
    """Whether a run of letters and digits reads as a word, a short number or an identifier."""
    if len(piece) == 1:
        return piece in "aAI"
    speakable = len(piece) <= _SHORT or piece.isupper() or _VOWEL.search(piece)
    return bool(speakable) and _WORDLIKE.fullmatch(piece) is not None


_SHORT = 3  # letters that random pieces often have in the shape of a word
_VOWEL = re.compile(r"[aeiouyAEIOUY\d]")


_RUN = re.compile(r"[A-Za-z0-9_-]{1,128}")


def _is_written_placeholder(body: re.Match[str]) -> bool:
    """Whether a body as written can't be one, with its last word whole."""
    run = _RUN.match(body.string, body.start())
    return _is_placeholder(body[0]) or (bool(run) and _is_words(run[0]))


def _is_placeholder(body: str) -> bool:
    """Whether a body in the shape of a credential can't be one."""
    return bool(_PLACEHOLDER.search(body)) or _is_words(body)


def _is_words(body: str) -> bool:
    pieces = _ALNUM.findall(body)
    return len(pieces) > 1 and all(map(_is_word, pieces))


class _Broken(Struct, frozen=True):
    """What follows a prefix: runs of letters and digits, and what stands before each."""

    pieces: list[str]
    gaps: list[str]

    @property
    def text(self) -> str:
        """The pieces together; the last may go on behind the end of a token."""
        return "".join(self.pieces)

    @property
    def random_share(self) -> float:
        """The share of letters and digits in pieces that are no words."""
        random = sum(len(piece) for piece in self.pieces if not _is_word(piece))
        return random / sum(map(len, self.pieces))

    @property
    def joined(self) -> bool:
        """Whether every gap may be a break in a token."""
        return all(map(_joins, self.gaps))

    @property
    def starts_with_word(self) -> bool:
        return len(self.pieces[0]) > _SHORT and _is_word(self.pieces[0])

    @property
    def looks_random(self) -> bool:
        """Whether the pieces are rather parts of one token than words after a prefix."""
        dotted = "." in self.gaps[1:]
        if (self.starts_with_word and not dotted) or not _joins(self.gaps[0]):
            return False
        return self.random_share >= (1 / 3 if self.joined else 1)


def _joins(gap: str) -> bool:
    """Whether what stands between two pieces may be a break in a token, not a blank in prose."""
    return "\n" in gap or "+" in gap or not any(c.isspace() or c in "\"'`" for c in gap)


_ELLIPSIS = re.compile(r"\.\.\.|…")


def _broken(text: str, start: int, length: int) -> _Broken | None:
    """The pieces from a position on that make up a length, or None when they end before it."""
    pieces: list[str] = []
    gaps: list[str] = []
    while length > 0:
        step = _STEP.match(text, start)
        if step is None or _ELLIPSIS.search(step["gap"]):
            return None
        pieces.append(step["piece"])
        gaps.append(step["gap"])
        length -= len(step["piece"])
        start = step.end()
    return _Broken(pieces, gaps)


def _mended(text: str, start: int, span: int = 256) -> Iterator[str]:
    """The text from a position on without a separator that cuts it in the way of a formatter.

    That is one with a line break, or one that leaves groups of one length.
    """
    cut = text[start : start + span]
    for separator in dict.fromkeys(_NOT_ALNUM_RUN.findall(cut, 0, 64)):
        if "\n" in separator:
            yield cut.replace(separator, "", 2)
        first, *groups = cut.split(separator, 3)
        size = len(groups[0])
        if not 0 < size <= _GROUP or size not in (len(first), *map(len, groups[1:2])):
            continue
        first, *groups = cut.split(separator)
        even = list(takewhile(lambda group: len(group) == size, groups))  # noqa: B023
        yield "".join((first, *even, *groups[len(even) : len(even) + 1]))


_NOT_ALNUM_RUN = re.compile(r"[^A-Za-z0-9]+")
_GROUP = 24  # characters, shorter than any hash


# Tokens: a prefix, then a body

_Detector = Callable[[str, str], Secret | None]


class _Token(Struct, frozen=True):
    """A format that is a public prefix and a body.

    In `prefix`, `?` is any small letter. `body` is the pattern of a body as written, no longer than
    the shortest that is issued, so that a placeholder's word behind a whole credential is none of
    it; `length` is how many letters and digits of it are needed when it is broken.
    """

    detector: str
    prefix: str
    body: str
    length: int

    def __call__(self, text: str, squeezed: str) -> Secret | None:
        lead = self.prefix.partition("?")[0]
        if "".join(_ALNUM.findall(lead)) not in squeezed:
            return None
        body = _pattern(self.body)
        for prefix in _last_of_each_row(_spread(self.prefix).finditer(text)):
            if _holds(text, prefix.end(), body, self.length) or any(
                self._starts(joined, body) for joined in _mended(text, prefix.start())
            ):
                return Secret(self.detector, lead)
        return None

    def _starts(self, joined: str, body: re.Pattern[str]) -> bool:
        prefix = _spread(self.prefix).match(joined)
        written = prefix and body.match(joined, prefix.end())
        return bool(written) and not _is_written_placeholder(written)


def _last_of_each_row(prefixes: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The prefixes but those behind which the same begins again; a body stands behind the last."""
    last: re.Match[str] | None = None
    for prefix in prefixes:
        if last is not None and prefix.start() > last.end():
            yield last
        last = prefix
    if last is not None:
        yield last


def _holds(text: str, start: int, body: re.Pattern[str], length: int) -> bool:
    """Whether the body of a credential starts here, as written or broken."""
    written = body.match(text, start)
    if written:
        return not _is_written_placeholder(written)
    broken = _broken(text, start, length)
    if broken and broken.gaps == [""]:  # shorter than a body, and then comes the break
        broken = _broken(text, start, len(broken.pieces[0]) + 1)
    return bool(broken) and broken.looks_random and not _is_placeholder(broken.text[:length])


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _spread(prefix: str) -> re.Pattern[str]:
    """The pattern of a prefix, also with separators between its characters.

    The first character stands before the look behind it, so that a search can leap to it.
    """
    first, *others = ("[a-z]" if c == "?" else re.escape(c) for c in prefix)
    return re.compile((_SEPARATOR + "{0,24}?").join([f"{first}(?<![A-Za-z0-9]{first})", *others]))


_TOKENS = (
    _Token("zero-memory-token", "zmt_", r"[A-Za-z0-9]{6,64}_[A-Za-z0-9_-]{16}", 40),
    *(
        _Token("github-token", f"gh{kind}_", r"[A-Za-z0-9]{36}", 36)
        for kind in "pousr"  # personal, OAuth, user-to-server, server-to-server, refresh
    ),
    _Token("github-fine-grained-token", "github_pat_", r"[A-Za-z0-9_]{40}", 40),
    _Token("slack-token", "xox?-", r"[A-Za-z0-9-]{20,46}", 20),
    _Token("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{24}", 24),
    *(
        _Token("openai-key", f"sk-{kind}-", r"[A-Za-z0-9_-]{32}", 32)
        for kind in ("proj", "svcacct", "service", "admin", "None")
    ),
    _Token("openai-key", "sk-", r"[A-Za-z0-9]{40}", 40),
    *(
        _Token("stripe-key", f"{kind}_{mode}_", r"[A-Za-z0-9]{16,24}", 16)
        for kind in ("sk", "rk")
        for mode in ("live", "test")
    ),
    _Token("stripe-webhook-secret", "whsec_", r"[A-Za-z0-9+/]{24,32}", 24),
    _Token("google-api-key", "AIza", r"[A-Za-z0-9_-]{35}", 28),
    _Token("npm-token", "npm_", r"[A-Za-z0-9]{36}", 36),
    _Token("pypi-token", "pypi-", r"Ag[A-Za-z0-9_-]{48}", 50),
    *(
        _Token("gitlab-token", f"{kind}-", r"[A-Za-z0-9_-]{20}", 16)
        for kind in (  # docs.gitlab.com/security/tokens: token prefixes
            *("glpat", "glrt", "glrtr", "gldt", "glcbt", "glptt", "glft", "glimt", "glagent"),
            *("glsoat", "gloas", "glffct", "glwt"),
        )
    ),
    _Token("gitlab-token", "GR1348941", r"[A-Za-z0-9_-]{20}", 16),
    _Token("hugging-face-token", "hf_", r"[A-Za-z0-9]{34}", 34),
    _Token("hugging-face-token", "api_org_", r"[A-Za-z0-9]{34}", 34),
)


# Formats with a shape of their own


def _private_key(text: str, squeezed: str) -> Secret | None:
    """A PEM or armoured private key of any kind that has a body, and a service account's."""
    if "PRIVATEKEY" not in squeezed:
        return None
    for header in _spread("PRIVATEKEY").finditer(text):
        opening = "".join(_ALNUM.findall(text, max(0, header.start() - 80), header.start()))
        if "BEGIN" in opening and _is_key_body(text, _PEM_HEADERS.match(text, header.end())):
            if "serviceaccount" in squeezed:
                return Secret("gcp-service-account-key", "-----BEGIN")
            return Secret("private-key", "-----BEGIN")
    return None


_PEM_HEADERS = re.compile(
    r"(?:[\W_]{0,64}(?:BLOCK|Proc-Type\W{1,3}4,ENCRYPTED|DEK-Info\W{1,3}[A-Z0-9-]{1,32},[0-9A-F]{1,64}"
    r"|(?:Version|Comment|Hash|Charset|Subject): [^\n]{0,200}\n)){0,8}"
)
_KEY_BODY = 40  # letters and digits; the shortest keys, of Ed25519, have 64 characters
_KEY_LINE = 64  # characters (RFC 7468)


def _is_key_body(text: str, headers: re.Match[str] | None) -> bool:
    body = headers and _broken(text, headers.end(), _KEY_BODY)
    if not body or _is_placeholder(body.text[:_KEY_LINE]):
        return False
    return not _is_word(body.pieces[0]) and body.random_share >= 1 / 2


def _aws_access_key_id(text: str, squeezed: str) -> Secret | None:
    """An access key id: its prefix and exactly sixteen upper-case letters and digits."""
    for prefix in ("AKIA", "ASIA"):
        if prefix not in squeezed:
            continue
        for found in _spread(prefix).finditer(text):
            ids = (text[found.start() : found.end() + 32], *_mended(text, found.start()))
            if any(map(_is_aws_id, ids)) or _is_broken_aws_id(text, found.end()):
                return Secret("aws-access-key-id", prefix)
    return None


def _is_aws_id(text: str) -> bool:
    key_id = _AWS_ID.match(text)
    return bool(key_id) and not _is_placeholder(key_id[0])


def _is_broken_aws_id(text: str, start: int) -> bool:
    broken = _broken(text, start, 16)
    if broken is None or broken.gaps == [""]:
        return False
    return broken.looks_random and _is_aws_id(f"AKIA{broken.text}")


_AWS_ID = re.compile(rf"(?:AKIA|ASIA)[A-Z0-9]{{16}}(?:(?![A-Z0-9])|(?={_PLACEHOLDER.pattern}))")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])")
_TO_VALUE = r"[^\w<({$]{1,32}(?:\{[^\w<({$]{1,32}\w{1,32}[^\w<({$]{1,32})?"
"""What stands between a label and its value, which may be the first member of an object."""
_AWS_LABEL = re.compile(
    r"(?i:secret[\W_]?access[\W_]?key|aws[\W_]?secret(?:[\W_]?key)?)" + _TO_VALUE
)
_BESIDE = 200  # characters between an access key id and its secret


def _aws_secret_key(text: str, squeezed: str) -> Secret | None:
    """A secret access key behind its label, or beside an access key id, be that a sample."""
    lowered = squeezed.lower()
    if "secretaccesskey" in lowered or "awssecret" in lowered:
        for label in _AWS_LABEL.finditer(text):
            broken = _broken(text, label.end(), 36)
            if (value := _AWS_SECRET.match(text, label.end())) and _is_aws_secret(value[0]):
                return Secret("aws-secret-access-key", value[0][:3])
            if broken and broken.looks_random and _is_aws_secret(broken.text[:40]):
                return Secret("aws-secret-access-key", broken.pieces[0][:3])
    if "AKIA" in squeezed or "ASIA" in squeezed:
        for key_id in _AWS_ID.finditer(text):
            beside = (max(0, key_id.start() - _BESIDE), key_id.end() + _BESIDE)
            for value in _AWS_SECRET.finditer(text, *beside):
                if _is_aws_secret(value[0]):
                    return Secret("aws-secret-access-key", value[0][:3])
    return None


def _is_aws_secret(value: str) -> bool:
    """Whether forty characters are rather a key than a hash or a path."""
    mixed = all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return mixed and not _is_placeholder(value)


_AZURE_LABEL = re.compile(r"(?i:account[\W_]?key)" + _TO_VALUE)
_AZURE_KEY = re.compile(r"[A-Za-z0-9+/]{86}==")  # 64 bytes


def _azure_storage_key(text: str, squeezed: str) -> Secret | None:
    """The key of a storage account, in a connection string or behind its label."""
    if "accountkey" not in squeezed.lower():
        return None
    for label in _AZURE_LABEL.finditer(text):
        if _holds(text, label.end(), _AZURE_KEY, 76):
            return Secret("azure-storage-key", "AccountKey=")
    return None


_JWT = re.compile(
    r"eyJ(?<![A-Za-z0-9]eyJ)[A-Za-z0-9_-]{10,2048}+\.[A-Za-z0-9_-]{2,16384}+\.([A-Za-z0-9_-]{20,43})"
)  # 43: the shortest signature, of HMAC with SHA-256
_JWT_OPENINGS = ("eyJhbGci", "eyJ0eXAi", "eyJraWQi", "eyJjdHki", "eyJlbmMi", "eyJ4NXQi", "eyJqa3Ui")
_JWT_SPAN = 4096  # characters in which a broken token is put together
_BREAK = r"[^\w.\n]{0,64}+\n[^\w.]{0,64}+"
_LINE_BREAK = re.compile(rf"(?<=\.){_BREAK}|{_BREAK}(?!eyJ)")


def _json_web_token(text: str, squeezed: str) -> Secret | None:
    """A signed token of three parts; two parts, or parts named in words, are none."""
    if "eyJ" not in squeezed:
        return None
    written = any(not _is_placeholder(token[1]) for token in _JWT.finditer(text))
    if written or _has_broken_jwt(text, squeezed):
        return Secret("json-web-token", "eyJ")
    return None


def _has_broken_jwt(text: str, squeezed: str) -> bool:
    if not any(opening in squeezed for opening in _JWT_OPENINGS):
        return False
    if any(map(_is_whole_jwt, _JWT.finditer(_LINE_BREAK.sub("", text)))):
        return True
    for opening in _spread("eyJ").finditer(text):
        if not "".join(_ALNUM.findall(text, opening.start(), opening.start() + 128)).startswith(
            _JWT_OPENINGS
        ):
            continue
        if _is_dotted_jwt(text, opening.end()):
            return True
        tokens = map(_JWT.match, _mended(text, opening.start(), _JWT_SPAN))
        if any(token and _is_whole_jwt(token) for token in tokens):
            return True
    return False


def _is_whole_jwt(token: re.Match[str]) -> bool:
    """Whether the header is a JSON object and the signature no words run together."""
    if _turns(token[1][:20]) < 5 or _is_placeholder(token[1]):  # noqa: PLR2004
        return False
    header = token[0].partition(".")[0]
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(header + "===")), dict)
    except ValueError:
        return False


def _turns(run: str) -> int:
    """How often lower case, upper case and digits take turns: often in a random run."""
    kinds = [(c.islower(), c.isupper()) for c in run]
    return sum(left != right for left, right in pairwise(kinds))


def _is_dotted_jwt(text: str, start: int) -> bool:
    """Whether a token has dots inside its parts, so that the parts can't be told apart."""
    broken = _broken(text, start, 80)
    if broken is None or not broken.joined or broken.random_share < 1 / 3:
        return False
    return sum("." in gap for gap in broken.gaps) > 2  # noqa: PLR2004 - more than a whole one has


_URL = re.compile(
    r"://(?:[^\s/?#@:()<>\[\]\"'`,;|]{0,256}|<[^\s<>@:]{1,64}>):"
    rf"(?P<password>{NO_PORT}[^\s@\"`]{{1,256}}(?:\n[ \t]*[^\s@\"`]{{1,256}}){{0,2}})@(?!sha256:)"
)
_SPACED_URL = re.compile(
    r"://[^\s/?#@:()<>\[\]\"'`,;|]{0,256}:"
    r"(?P<password>[^\s@\"`:/]{1,64}(?: {1,2}[^\s@\"`:/]{1,64}){1,4})"
    r"@[A-Za-z0-9.-]{1,253}(?::\d{1,5}|/)"
)
"""With blanks in the password, which no URL may have; words in prose may stand so, too."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*$")
_TO_FILL_IN = re.compile(
    r"\$[A-Z_][A-Z0-9_]*|\$[a-z_]*(?:pass|pwd|pw|secret|token|key)[a-z_]*|\$\{[^{}]*\}"
    r"|\$?\(.*\)|<.*>|\{.*\}|\[.*\]|%\w+%|%(?:\(\w*\))?[sdv]"
    r"|[*•.…_?-]+|[xX]{2,}|(?i:your[-_].*)"
    r"|[A-Z_]*(?:PASS|PASSWORD|PASSWD|PWD|SECRET|TOKEN|KEY|PAT|PORT)[A-Z_]*"
)


def _url_password(text: str, _squeezed: str) -> Secret | None:
    """A URL of any scheme with a password before its host."""
    for url in _URL.finditer(text):
        password = url["password"]
        if not any(
            _TO_FILL_IN.fullmatch(part) or _PLACEHOLDER.search(part)
            for part in (password, re.split("[/?#]", password)[0])
        ):
            return _password_behind(text, url.start())
    for url in _SPACED_URL.finditer(text):
        if not (_TO_FILL_IN.fullmatch(url["password"]) or _is_placeholder(url["password"])):
            return _password_behind(text, url.start())
    return None


def _password_behind(text: str, start: int) -> Secret:
    scheme = _SCHEME.search(text, max(0, start - 12), start)
    return Secret("url-password", f"{scheme[0] if scheme else ''}://")


_DETECTORS: tuple[_Detector, ...] = (
    _private_key,
    *_TOKENS,
    _aws_access_key_id,
    _aws_secret_key,
    _azure_storage_key,
    _json_web_token,
    _url_password,
)
