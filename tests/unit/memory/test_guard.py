import re
import sys
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.memory.credentials import (
    AROUND,
    BEHIND,
    CREDENTIALS,
    INSIDE,
    TOKENS,
    lookalikes,
    seeded,
)
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.memory.guard import find_secret, refuse_secrets, text_leaves
from zero_memory.scopes.hints import strip_credentials

SEEDS = range(3)
LOOKALIKES = lookalikes()


def made(kind: str, seed: int) -> str:
    return CREDENTIALS[kind][1](seeded((kind, seed)))


SECRET = made("gitlab glpat", 0)


def refusal_of(name: str, text: str) -> Refusal:
    with pytest.raises(Refusal) as refused:
        refuse_secrets([(name, text)])
    return refused.value


@pytest.mark.parametrize("around", AROUND)
def test_a_credential_is_found_wherever_it_stands(around: str) -> None:
    for kind, seed in product(CREDENTIALS, SEEDS):
        found = find_secret(AROUND[around](made(kind, seed)))
        assert found is not None, kind
        assert found.detector == CREDENTIALS[kind][0]


@pytest.mark.parametrize("inside", INSIDE)
def test_a_token_is_found_when_something_stands_inside_it(inside: str) -> None:
    for kind, seed in product(TOKENS, SEEDS):
        assert find_secret(INSIDE[inside](made(kind, seed))) is not None, kind


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("kind", TOKENS)
def test_a_placeholders_word_behind_a_whole_token_does_not_hide_it(kind: str, behind: str) -> None:
    for seed in SEEDS:
        token = made(kind, seed)
        assert find_secret(f"The key is {token}{behind}.") is not None
        assert find_secret(f"The key is {INSIDE['a line break'](token)}{behind}.") is not None


@pytest.mark.parametrize(
    "sample",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "AKIAIOSFODNN7EXAMPLEexample",
        f"xoxb-{'1234567890' * 2}-{'x' * 24}",
        f"ghp_{'x' * 40}",
        f"sk_live_{'0' * 24}",
        f"sk_test_{'x' * 24}",
        "glpat-your_gitlab_token_goes_here_and_nowhere_else",
        f"AIza{'x' * 35}",
    ],
)
def test_a_documented_sample_passes(sample: str) -> None:
    assert find_secret(sample) is None


@pytest.mark.parametrize("first", ["Abc", "Bcdfghjk"])
def test_a_token_is_found_though_its_first_piece_has_the_letters_of_a_word(first: str) -> None:
    rest = made("ghp", 0).removeprefix("ghp_")
    assert find_secret(f"ghp_{first}•{rest}") is not None
    assert find_secret(f"ghp_Readme•{rest}") is None


@pytest.mark.parametrize("around", ["in a code block", "in JSON", "in full width"])
@pytest.mark.parametrize("inside", INSIDE)
def test_disguises_add_up(inside: str, around: str) -> None:
    for kind in ("ghp", "anthropic", "openai proj", "stripe sk live"):
        assert find_secret(AROUND[around](INSIDE[inside](made(kind, 0)))) is not None


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_a_credential_passes(name: str) -> None:
    assert find_secret(LOOKALIKES[name]) is None


@pytest.mark.parametrize("kind", TOKENS)
def test_a_truncated_token_passes(kind: str) -> None:
    token = made(kind, 0)
    shown = re.match(r"(?:[A-Za-z]+[_-])*", token)
    assert shown is not None
    start = token[: max(shown.end(), 4) + 4]
    assert find_secret(f"The token {start}… was revoked, as {start}... and `{start}***`.") is None


@pytest.mark.parametrize(
    "password",
    [
        "$PASSWORD",
        "$DB_PASS",
        "$db_password",
        "${DB_PASS}",
        "${pw}",
        "$(pass db)",
        "<password>",
        "{password}",
        "{{ password }}",
        "***",
    ],
)
def test_a_url_whose_password_is_to_be_filled_in_passes(password: str) -> None:
    assert find_secret(f"postgres://app:{password}@db.internal:5432/app") is None


@pytest.mark.parametrize(
    "password",
    ["password", "pa$$word", "$ecretQ9z", "$ecret", "hunter2", "Example1!", "p%40ss", "x"],
)
def test_a_url_whose_password_could_be_one_is_found(password: str) -> None:
    expected = None if password == "Example1!" else "url-password"
    found = find_secret(f"postgres://app:{password}@db.internal:5432/app")
    assert (found and found.detector) == expected


def test_a_url_whose_password_is_cut_by_a_line_break_is_found() -> None:
    found = find_secret("amqp://app:Sup3r\n  S3cret@mq.internal")
    assert found is not None
    assert found.detector == "url-password"


@pytest.mark.parametrize(
    "password", ["my pass w0rd", "s3cr et", "p4ss  W0RD!", "a b c d3f"], ids="blank{}".format
)
def test_a_url_whose_password_has_blanks_is_found(password: str) -> None:
    for url in ("postgres://app:{}@db:5432/x", "https://ada:{}@git.acme.io/api"):
        found = find_secret(f"Use {url.format(password)} today.")
        assert found is not None
        assert found.detector == "url-password"


def test_a_known_secret_is_found_without_its_id_but_not_a_hash_in_its_place() -> None:
    label = "aws_secret_access_key = "
    assert find_secret(label + "0123456789abcdef" * 2 + "01234567") is None
    assert find_secret(label + "0123456789abcdEF" * 2 + "01234567") is not None


def test_an_identifier_longer_than_an_access_key_id_passes() -> None:
    assert find_secret("AKIA" + "7QWERTYUIOPASDF2" + "X") is None
    assert find_secret("AKIA" + "7QWERTYUIOPASDF2") is not None


def test_the_refusal_names_field_and_detector_and_says_what_to_do() -> None:
    refusal = refusal_of("content", made("ghp", 1))
    assert refusal.code is ErrorCode.VALIDATION_FAILED
    assert refusal.message.startswith("secret_content_rejected: `content` ")
    assert "(github-token, ghp_…)" in refusal.message
    assert "placeholder" in refusal.message
    assert refusal.details == {"field": "content", "detector": "github-token"}


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_refusal_shows_no_part_of_a_secret_but_its_lead(kind: str) -> None:
    for disguise in ("alone", "in full width", "with every character escaped"):
        text = AROUND[disguise](made(kind, 2))
        shown = repr(refusal_of("content", text).body())
        lead = find_secret(text)
        assert lead is not None
        rest = made(kind, 2).replace(lead.lead, " ", 1)
        parts = {rest[at : at + 8] for at in range(len(rest) - 7)}
        assert not [part for part in parts if part in shown]


def test_fields_are_read_in_order_and_none_passes_unread() -> None:
    secret = made("npm", 0)
    refuse_secrets([("content", "fine"), ("original", "also fine")])
    with pytest.raises(Refusal, match="`original`"):
        refuse_secrets([("content", "fine"), ("original", secret), ("reason", secret)])


@pytest.mark.parametrize(
    "source",
    [
        SECRET,
        {"path": SECRET},
        {SECRET: 1},
        {SECRET: {"a": None}},
        {SECRET: "value"},
        [1, True, None, [{"a": [SECRET]}]],
    ],
    ids=["itself", "value", "key", "key of an object", "key of a string", "deep"],
)
def test_every_string_of_a_source_is_read(source: object) -> None:
    with pytest.raises(Refusal) as refused:
        refuse_secrets(text_leaves("source", source))
    assert refused.value.details == {"field": "source", "detector": "gitlab-token"}


def test_a_label_and_its_value_in_a_source_are_read_together() -> None:
    secret = made("aws secret", 0).partition("=")[2]
    refuse_secrets(text_leaves("source", {"digest": secret}))
    with pytest.raises(Refusal, match="aws-secret-access-key"):
        refuse_secrets(text_leaves("source", {"aws_secret_access_key": secret}))
    with pytest.raises(Refusal, match="aws-secret-access-key"):
        refuse_secrets(text_leaves("source", {"aws_secret_access_key": [["fine"], [secret]]}))
    for nested in ({"value": secret}, {"value": {"plain": [secret]}}, [{"a": "b", "c": secret}]):
        with pytest.raises(Refusal, match="aws-secret-access-key"):
            refuse_secrets(text_leaves("source", {"aws_secret_access_key": nested}))


@pytest.mark.parametrize(
    "between", [': ["', ":\n  - ", '": [\n        "', " = [[ '", '": {"value": "', " = { value: '"]
)
def test_a_label_and_its_value_in_a_list_or_an_object_are_read_together(between: str) -> None:
    secret = made("aws secret", 0).partition("=")[2]
    assert find_secret(f"aws_secret_access_key{between}{secret}") is not None


def test_a_source_nested_beyond_any_recursion_is_read() -> None:
    source: object = made("hugging face", 0)
    for _ in range(sys.getrecursionlimit() * 2):
        source = [source]
    with pytest.raises(Refusal):
        refuse_secrets(text_leaves("source", source))


@pytest.mark.parametrize(
    ("hint", "stripped"),
    [
        ("https://ada:s3cret@git.example.org/acme/api", "https://git.example.org/acme/api"),
        ("https://{token}@github.com/acme/api.git", "https://github.com/acme/api.git"),
        ("https://x-access-token:{token}@github.com/a/b", "https://github.com/a/b"),
        ("ssh://git:{token}@host:22/acme/api", "ssh://host:22/acme/api"),
        ("https://ada:p/w@rd@host/acme/api", "https://host/acme/api"),
        ("https://ada:p#w?d@host/acme/api", "https://host/acme/api"),
        ("https://ada:p@ss@host/acme/api", "https://host/acme/api"),
        ("https://ada:my pass w0rd@host/acme/api", "https://host/acme/api"),
        ("https://ada: s3cret@host/acme/api", "https://host/acme/api"),
        ("https://ada l:s3cret@host/acme/api", "https://host/acme/api"),
        ("ada:my pass w0rd@host:acme/api.git", "host:acme/api.git"),
        ("ada:{token}@host:acme/api.git", "host:acme/api.git"),
        ("ada:{token}@host", "host"),
        ("http:/ada:{token}@host/a", "http:/host/a"),
        ("http:/ada:p/w@rd:x@host/a", "http:/host/a"),
        ("http:ada:{token}@host/a", "host/a"),
        ("//ada:{token}@host/a", "//host/a"),
        ("//ada:/{token}@host/a", "//host/a"),
        ("~/ada:{token}@host", "~/host"),
        (r"C:\ada:{token}@host", r"C:\host"),
        (
            "origin https://a:b@one/x and https://c:d@two/y",
            "origin https://one/x and https://two/y",
        ),
    ],
)
def test_credentials_of_a_remote_are_stripped_from_a_hint(hint: str, stripped: str) -> None:
    assert strip_credentials(hint.format(token=made("ghp", 0))) == stripped


@pytest.mark.parametrize(
    "hint",
    [
        "git@github.com:acme/api.git",
        "https://github.com/acme/api",
        "https://git.example.org:8443/acme/@scope/api",
        "/home/me/src/api@2",
        r"C:\src\api@2/x:y",
        "file:///C:/src/api@2",
        "/srv/node_modules/@scope/api",
        "api",
        "",
    ],
)
def test_a_hint_without_credentials_stays_as_it_is(hint: str) -> None:
    assert strip_credentials(hint) == hint


_ODD_CHARACTERS = st.one_of(
    st.characters(),
    st.sampled_from("\\%u0041x:/@_-.=+ \n\u200b\u0336\ufdfa"),
)
_FRAGMENTS = st.sampled_from(
    [
        *(
            "ghp_",
            "github_pat_",
            "AKIA",
            "eyJhbGci",
            "://",
            ":",
            "@",
            "sk-",
            "xoxb-",
            "AccountKey=",
        ),
        *(
            "secret_access_key=",
            "-----BEGIN PRIVATE KEY-----",
            "%41",
            "\\u0041",
            "\\n",
            "abc",
            "D9",
        ),
    ]
)
_TEXTS = st.one_of(
    st.text(_ODD_CHARACTERS, max_size=200),
    st.lists(_FRAGMENTS, max_size=40).map("".join),
)


@given(_TEXTS)
def test_any_text_is_read_and_only_ever_refused(text: str) -> None:
    found = find_secret(text)
    if found is None:
        refuse_secrets([("content", text)])
    else:
        assert refusal_of("content", text).message.startswith("secret_content_rejected: ")


@given(
    before=st.text(st.characters(exclude_categories=["L", "N"]), max_size=40), seed=st.integers()
)
def test_no_text_before_a_token_hides_it(before: str, seed: int) -> None:
    token = TOKENS["openai"][1](seeded(seed))
    escapes = before.endswith(("\\", "%"))
    assert escapes or find_secret(f"{before} {token}") is not None


@given(_TEXTS)
def test_stripping_a_hint_twice_changes_nothing_more(hint: str) -> None:
    stripped = strip_credentials(hint)
    assert strip_credentials(stripped) == stripped


@given(st.text("ab:/@#?.1 ", max_size=40))
@example("@::?@")
def test_a_stripped_hint_holds_no_url_with_a_password(tail: str) -> None:
    found = find_secret(strip_credentials(f"https://{tail}"))
    assert found is None


def _calls_made(text: str) -> int:
    """How many calls, of Python and of C, the reading of a text makes."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert find_secret(text) is None
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "unit",
    [
        "sk-ant-",
        "xoxb-",
        "hf_",
        "h-f-_",
        "eyJhbGci-",
        "zmt_a_",
        "://a:b c",
        "hf_a ",
        "eyJhbGci.a ",
        "://a:b\n",
        "AKIAIOSFODNN7EXAMPLE ",
        "AccountKey=",
        "\\\\",
    ],
)
def test_the_work_grows_with_the_length_of_a_text_and_no_faster(unit: str) -> None:
    short, long = (_calls_made(unit * (size // len(unit))) for size in (6_000, 12_000))
    assert long <= short * 2.5


@pytest.mark.parametrize("prefix", ["hf_", "sk-", "xoxb-", "npm_"])
def test_a_row_of_prefixes_costs_as_much_as_one(prefix: str) -> None:
    assert _calls_made(prefix * 1_000) < 100 + 20 * 1_000
    token = prefix + "a1B2" * 10
    assert find_secret(f"{prefix * 3}{token}") == find_secret(token) != None  # noqa: E711
