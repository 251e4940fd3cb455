"""Made-up credentials, valid in shape, and what only looks like one.

Everything is put together when a test runs, from a seed, so that no file of the repository holds
a string that a secret scanner would report.
"""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from hashlib import md5, sha1, sha256, sha512

_LETTERS = string.ascii_letters
_ALNUM = string.ascii_letters + string.digits
_BASE64URL = _ALNUM + "-_"
_BASE64 = _ALNUM + "+/"
_UPPER = string.ascii_uppercase + string.digits


def seeded(seed: object) -> random.Random:
    return random.Random(repr(seed))  # noqa: S311 - made up, never a secret of anything


def _some(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _json64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt(rng: random.Random) -> str:
    header = {"alg": rng.choice(("HS256", "RS256")), "typ": "JWT"}
    payload = {"sub": _some(rng, string.digits, 10), "name": _some(rng, _LETTERS, 12)}
    return f"{_json64(header)}.{_json64(payload)}.{_some(rng, _BASE64URL, 42)}x"


def pem(rng: random.Random, kind: str = "", lines: int = 4) -> str:
    name = f"{kind} PRIVATE KEY".strip() + (" BLOCK" if kind == "PGP" else "")
    body = "\n".join("MIIEpAIBAAKCAQEA" + _some(rng, _BASE64, 48) for _ in range(lines))
    return f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"


def service_account(rng: random.Random) -> str:
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "acme",
            "private_key_id": _some(rng, "0123456789abcdef", 40),
            "private_key": pem(rng),
        }
    )


Make = Callable[[random.Random], str]


def _token(prefix: str, alphabet: str, length: int) -> Make:
    return lambda rng: prefix + _some(rng, alphabet, length)


# (detector, one credential of it): tokens of one run, which a disguise may cut anywhere
TOKENS: dict[str, tuple[str, Make]] = {
    **{
        f"gh{kind}": ("github-token", _token(f"gh{kind}_", _ALNUM, 36))
        for kind in ("p", "o", "u", "s", "r")
    },
    "github_pat": (
        "github-fine-grained-token",
        lambda rng: f"github_pat_{_some(rng, _ALNUM, 22)}_{_some(rng, _ALNUM, 59)}",
    ),
    **{
        kind: ("aws-access-key-id", lambda rng, kind=kind: f"{kind}7{_some(rng, _UPPER, 14)}2")
        for kind in ("AKIA", "ASIA")
    },
    "slack bot": (
        "slack-token",
        lambda rng: (
            f"xoxb-{_some(rng, string.digits, 12)}-{_some(rng, string.digits, 13)}"
            f"-{_some(rng, _ALNUM, 24)}"
        ),
    ),
    **{
        f"slack {kind}": ("slack-token", _token(f"xox{kind}-2-", _ALNUM, 40))
        for kind in ("a", "c", "d", "e", "p", "r", "s")
    },
    "anthropic": ("anthropic-key", _token("sk-" + "ant-api03-", _BASE64URL, 95)),
    "anthropic admin": ("anthropic-key", _token("sk-" + "ant-admin01-", _BASE64URL, 95)),
    "openai": ("openai-key", _token("sk-", _ALNUM, 48)),
    **{
        f"openai {kind}": ("openai-key", _token(f"sk-{kind}-", _BASE64URL, 120))
        for kind in ("proj", "svcacct", "service", "admin", "None")
    },
    **{
        f"stripe {kind} {mode}": ("stripe-key", _token(f"{kind}_{mode}_", _ALNUM, length))
        for kind, mode, length in (
            ("sk", "live", 24),
            ("sk", "test", 99),
            ("rk", "live", 99),
            ("rk", "test", 24),
        )
    },
    "stripe webhook": ("stripe-webhook-secret", _token("whsec_", _ALNUM, 32)),
    "google": ("google-api-key", _token("AI" + "za", _BASE64URL, 35)),
    "npm": ("npm-token", _token("npm_", _ALNUM, 36)),
    "pypi": ("pypi-token", _token("pypi-" + "AgEIcHlwaS5vcmc", _BASE64URL, 150)),
    **{
        f"gitlab {kind}": ("gitlab-token", _token(f"{kind}-", _BASE64URL, length))
        for kind, length in (
            *(("glpat", 20), ("glrt", 20), ("gldt", 20), ("glptt", 40), ("glft", 20)),
            *(("glimt", 25), ("glagent", 50), ("glsoat", 20), ("gloas", 64), ("glcbt", 26)),
            *(("glffct", 20), ("glrtr", 27), ("glwt", 20)),
        )
    },
    "gitlab registration": ("gitlab-token", _token("GR13489" + "41", _BASE64URL, 20)),
    "gitlab routable": (
        "gitlab-token",
        lambda rng: f"glpat-{_some(rng, _BASE64URL, 30)}.01.{_some(rng, _ALNUM.lower(), 9)}",
    ),
    "hugging face": ("hugging-face-token", _token("hf_", _LETTERS, 34)),
    "hugging face organisation": ("hugging-face-token", _token("api_" + "org_", _LETTERS, 34)),
    "own": (
        "zero-memory-token",
        lambda rng: (
            f"zmt_{_some(rng, string.ascii_lowercase + '234567', 16)}_{_some(rng, _BASE64URL, 43)}"
        ),
    ),
    "json web token": ("json-web-token", _jwt),
}

# (detector, one credential of it): with a label, blanks or line breaks of their own
PHRASES: dict[str, tuple[str, Make]] = {
    **{
        f"pem {kind}": ("private-key", lambda rng, kind=kind: pem(rng, kind))
        for kind in ("", "RSA", "EC", "DSA", "OPENSSH", "ENCRYPTED", "PGP")
    },
    "pem of one line": ("private-key", lambda rng: pem(rng, "EC", lines=1)),
    "pem with headers": (
        "private-key",
        lambda rng: pem(rng, "RSA").replace(
            "-----\nMII",
            "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,9F0B1C2D3E4F5A6B\n\nMII",
            1,
        ),
    ),
    "pem of a service account": ("gcp-service-account-key", service_account),
    "aws secret": (
        "aws-secret-access-key",
        lambda rng: f"AWS_SECRET_ACCESS_KEY={_some(rng, _BASE64, 37)}aZ9",
    ),
    "aws secret in code": (
        "aws-secret-access-key",
        lambda rng: f'secretAccessKey: "{_some(rng, _BASE64, 37)}aZ9"',
    ),
    "aws secret beside a sample id": (
        "aws-secret-access-key",
        lambda rng: f"AKIAIOSFODNN7EXAMPLE goes with {_some(rng, _BASE64, 37)}aZ9",
    ),
    "azure": (
        "azure-storage-key",
        lambda rng: (
            "DefaultEndpointsProtocol=https;AccountName=acme;"
            f"AccountKey={_some(rng, _BASE64, 86)}==;EndpointSuffix=core.windows.net"
        ),
    ),
    "azure in json": (
        "azure-storage-key",
        lambda rng: f'{{"account_key": "{_some(rng, _BASE64, 86)}=="}}',
    ),
    **{
        f"url {scheme}": (
            "url-password",
            lambda rng, scheme=scheme: (
                f"{scheme}://app:{_some(rng, _ALNUM, 12)}@db.internal:5432/app"
            ),
        )
        for scheme in ("postgres", "https", "amqp", "mongodb+srv", "redis", "ftp", "mysql")
    },
    "url without user": ("url-password", lambda rng: f"redis://:{_some(rng, _ALNUM, 12)}@cache"),
    "url with odd password": (
        "url-password",
        lambda rng: f"postgres://app:{_some(rng, _LETTERS, 4)}/9#?$w:0@rd@db/app",
    ),
}

CREDENTIALS = TOKENS | PHRASES


def _chunks(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _cut(text: str, separator: str) -> str:
    """A separator once, in the middle of what follows the prefix."""
    middle = len(text) // 2
    return text[:middle] + separator + text[middle:]


def _wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


# What a text may do around a credential of any kind
AROUND: dict[str, Callable[[str], str]] = {
    "alone": str,
    "in a sentence": lambda s: f"The deploy uses {s}, which lives in CI.",
    "in quotes": lambda s: f'key = "{s}"',
    "in backticks": lambda s: f"Use `{s}` here.",
    "in a code block": lambda s: f"Run this:\n\n```sh\nexport KEY={s}\n```\n",
    "in an indented code block": lambda s: "\n".join("    " + line for line in s.split("\n")),
    "in a quotation": lambda s: "\n".join("> " + line for line in s.split("\n")),
    "in a table": lambda s: f"| name | value |\n|---|---|\n| key |{s}|",
    "in a list": lambda s: f"- one\n- {s}\n- two",
    "between punctuation": lambda s: f"({s});",
    "in bold": lambda s: f"**{s}**",
    "after an equals sign": lambda s: f"KEY={s}&x=1",
    "in JSON": lambda s: json.dumps({"token": s}),
    "in JSON in JSON": lambda s: json.dumps({"body": json.dumps({"token": s})}),
    "with every character escaped": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "percent-encoded": lambda s: "https://x.test/?next=" + "".join(f"%{ord(c):02X}" for c in s),
    "percent-encoded twice": lambda s: "".join(f"%25{ord(c):02x}" for c in s),
    "with zero-width characters": "\u200b".join,
    "after a zero-width character": lambda s: f"token\u200b{s}",
    "with soft hyphens": lambda s: "\u00ad".join(_chunks(s, 5)),
    "with Hangul fillers": "\u3164".join,
    "with combining marks": "\u0336".join,
    "in full width": _wide,
    "after letters of another script": lambda s: f"токен{s}",
    "with Windows line ends": lambda s: f"a\r\n{s}\r\nb".replace("\n", "\r\n"),
}

# What may stand behind a whole credential and makes no placeholder of it
BEHIND = ("example", "-example", "_EXAMPLE", "xxxxxxxx", "0000000000000000", "-redacted")

# What may stand inside a token
INSIDE: dict[str, Callable[[str], str]] = {
    "a line break": lambda s: _cut(s, "\n"),
    "a line break and an indent": lambda s: _cut(s, "\n        "),
    "a line break in a quotation": lambda s: "> " + _cut(s, "\n> "),
    "a line continuation": lambda s: _cut(s, "\\\n"),
    "an escaped line break": lambda s: _cut(s, "\\n"),
    "a line break after each 20": lambda s: "\n".join(_chunks(s, 20)),
    "a concatenation over lines": lambda s: '"' + _cut(s, '" +\n            "') + '"',
    "a dot": lambda s: _cut(s, "."),
    "dots at odd places": lambda s: f"{s[:6]}.{s[6:13]}.{s[13:]}",
    "a dot after each 8": lambda s: ".".join(_chunks(s, 8)),
    "a dot after each 4": lambda s: ".".join(_chunks(s, 4)),
    "a blank after each 8": lambda s: " ".join(_chunks(s, 8)),
    "a blank after each 4": lambda s: " ".join(_chunks(s, 4)),
    "a hyphen after each 4": lambda s: "-".join(_chunks(s, 4)),
    "a bar after each 5": lambda s: " | ".join(_chunks(s, 5)),
    "a bullet after each 5": lambda s: "•".join(_chunks(s, 5)),
}


def lookalikes() -> dict[str, str]:
    rng = seeded(7)
    digest = sha1(b"commit", usedforsecurity=False).hexdigest()
    image = base64.b64encode(rng.randbytes(6000)).decode()
    return {
        "md5": f"ETag {md5(b'x', usedforsecurity=False).hexdigest()}",
        "sha1": f"Fixed in commit {digest}, tests in {digest[:7]}.",
        "sha256": f"sha256:{sha256(b'x').hexdigest()}",
        "subresource integrity": "sha512-" + base64.b64encode(sha512(b"x").digest()).decode(),
        "image digest": f"docker-image://alpine:3.19@sha256:{sha256(b'y').hexdigest()}",
        "uuid": f"Request {uuid.UUID(int=rng.getrandbits(128))}",
        "own ids": "mem_01JD3Q8Z6W5X4V3T2S1R0QPNMK superseded thr_01JD3Q8Z6W5X4V3T2S1R0QPNMK",
        "image": f"![logo](data:image/png;base64,{image})",
        "image in lines": "\n".join(_chunks(image, 76)),
        "url-safe base64": base64.urlsafe_b64encode(rng.randbytes(3000)).decode(),
        "base32": "".join(rng.choices(string.ascii_uppercase + "234567", k=4000)),
        "e-mail": "Write to ada.lovelace+memo@example.org, ada@[10.0.7.1]",
        "e-mail after a port": "The wiki is https://wiki.internal:8443\nada@example.org keeps it.",
        "an account behind a url": "Take redis://cache:main then ssh as root@db.internal:22 there, "
        "or https://proxy:squid and log in as git@github.com/acme",
        "assignments of no format": "DB_PASSWORD=hunter2secret\nAPI_SECRET: S3cr3tValue",
        "e-mail beside a url": '{"https://example.com":"ada@example.org"}',
        "user without password": "Clone https://ada@git.example.org/acme/api or ssh://git@host:22/x",
        "scp-like remote": "git@github.com:acme/api.git",
        "package scope after a port": "http://localhost:5173/@vite/client",
        "password in a variable": "postgres://app:$PASSWORD@db, amqp://app:${DB_PASS}@mq/",
        "password to fill in": "https://u:<password>@host and redis://:***@cache and ftp://u:xxx@h",
        "password in a template": "postgres://{user}:{password}@{host} or mysql://u:%s@h",
        "upper-case template": "mongodb+srv://USER:PASSWORD@cluster.example.net",
        "truncated tokens": "ghp_abc…, sk-ant-api03-..., AKIA…, glpat-****, eyJhbGciOiJIUzI1NiJ9…",
        "prefixes": (
            "GitHub tokens start with ghp_, gho_, ghu_, ghs_ or ghr_ and are 40 characters long; "
            "fine-grained ones start with github_pat_ and AWS ids with AKIA or ASIA; "
            "sk-ant- is Anthropic, sk- and sk-proj- are OpenAI, xoxb- is a Slack bot, hf_ is "
            "Hugging Face, npm_ is npm, pypi- is PyPI, glpat- is GitLab and AIza is Google."
        ),
        "prefixes in a list": "- `ghp_`\n- `gho_`\n- `github_pat_`\n- `AKIA`\n- `xoxb-`",
        "prefixes in a table": "| GitHub | `ghp_` | 36 |\n| AWS | `AKIA` | 16 |\n",
        "a prefix and a commit": f"We look for `ghp_` since commit {digest} of the guard.",
        "a prefix in brackets and a commit": f"(ghp_, see {digest})",
        "names of prefixes in code": 'PREFIXES = ("ghp_", "gho_", "sk-ant-", "AKIA", "hf_")',
        "formats as patterns": (
            r"ghp_[A-Za-z0-9]{36}|github_pat_\w{82}|AKIA[0-9A-Z]{16}|sk-ant-[\w-]{95}|"
            r"xox[baprs]-[0-9A-Za-z-]{10,48}|AIza[0-9A-Za-z_-]{35}|eyJ[\w-]+\.[\w-]+\.[\w-]+"
        ),
        "vendor's sample id": "Ids look like AKIAIOSFODNN7EXAMPLE, secrets like "
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY.",
        "vendor's sample profile": "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sample id and a commit": f"AKIAIOSFODNN7EXAMPLE was removed in {digest}",
        "fillers": f"ghp_{'x' * 36}, AKIA{'X' * 16}, sk-{'x' * 48}, npm_{'0' * 36}",
        "half masked": f"ghp_16C7{'x' * 32}",
        "words in the place of a key": "sk-your-key-here, sk-proj-put-the-key-of-your-app-here, "
        "glpat-your-gitlab-token-goes-here, xoxb-your-slack-bot-token-here",
        "words with a prefix's letters": "sk-learn, task-runner, risk-averse, disk-usage, "
        "ask-me-anything-about-the-new-release-process-of-this-team, half_life, chf_rate",
        "css classes": '<div class="sk-toggleable__content fitted sk-estimator-id-12 sk-top">',
        "css class and a hash": f"sk-container-id-1-{digest}",
        "npm variables": "npm_config_registry npm_package_name npm_lifecycle_event "
        "npm_config_user_agent_and_everything",
        "pypi names": "pypi-attestations pypi-publish pypi-AgEIcHlwaS5vcmc…",
        "public key": "-----BEGIN PUBLIC KEY-----\n"
        + "\n".join(_chunks(image[:256], 64))
        + "\n-----END PUBLIC KEY-----",
        "certificate": "-----BEGIN CERTIFICATE-----\n"
        + "\n".join(_chunks(image[:512], 64))
        + "\n-----END CERTIFICATE-----",
        "ssh public key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{image[:43]} ada@laptop",
        "private key in words": "A key begins with -----BEGIN RSA PRIVATE KEY----- and the guard "
        f"refuses it since commit {digest}.",
        "private key left out": "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "service account in words": '{"type": "service_account", "private_key": "<in the vault>"}',
        "two parts of a token": f"{_json64({'alg': 'none', 'typ': 'JWT'})}."
        f"{_json64({'sub': 'ada', 'admin': True, 'scope': 'everything that there is'})}. "
        "The Signature follows and is left out here on purpose.",
        "two parts of a token, then words": f"{_json64({'alg': 'none'})}."
        f"{_json64({'sub': 'ada'})}.\nsignatureintheplaceofthis",
        "shortened in the middle": f"ghp_{digest[:30].title()}...{digest[:30].title()}",
        "a prefix and two commits": f"ghp_ {digest} {digest} and so on",
        "parts of a token in words": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.payload.signature",
        "cursor": _json64({"after": "mem_01JD3Q8Z6W5X4V3T2S1R0QPNMK", "shape": 3}),
        "phone": "Call +49 30 901820 or (555) 010-9999 ext. 12",
        "entropy": "".join(rng.choices(_ALNUM, k=64)),
        "azure in words": "AccountKey=<key>; UseDevelopmentStorage=true; the AccountKey= part is "
        "eighty-eight characters long and ends with two equals signs",
        "aws in words": "AWS_SECRET_ACCESS_KEY=$(vault read aws), the secret access key of the "
        f"deploy user was rotated in {digest}",
        "continents": "ASIA PACIFIC REGION AND ASIA NORTHEAST 1 ARE THE SLOW ONES",
        "windows path": r"C:\new\tokens\ghp_\table.txt and %APPDATA%\npm_\x",
        "percent signs": "100%, 50%25 and https://example.org/a%20b%2Fc?d=%E2%82%AC",
    }
