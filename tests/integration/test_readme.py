"""What README.md and docs tell people to run exists, and does what they say."""

import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest

from tests.samples import REPOSITORY
from zero_memory.client.commands import COMMANDS
from zero_memory.client.serve import DEFAULT_PORT
from zero_memory.local.deployment import read_deployment
from zero_memory.tools.catalogue import TOOLS

PAGES = ("README.md", *(f"docs/{page.name}" for page in (REPOSITORY / "docs").glob("*.md")))


def commands(page: str) -> Iterator[list[str]]:
    """Each command of a page's shell blocks, in words."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            yield shlex.split(line)


README = list(commands("README.md"))


def of(program: str) -> list[list[str]]:
    return [words for words in README if words[0] == program]


@pytest.mark.parametrize("words", of("make"), ids=" ".join)
def test_make_knows_what_the_readme_makes(words: list[str]) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", *words[1:]], cwd=REPOSITORY, capture_output=True, check=False
    )

    assert planned.returncode == 0, planned.stderr


@pytest.mark.parametrize("words", of("zm"), ids=" ".join)
def test_zm_knows_the_commands_of_the_readme(words: list[str]) -> None:
    assert words[1] in COMMANDS or " " in words[-1]


def test_the_readme_connects_to_the_default_port() -> None:
    (connect,) = of("claude")

    assert f"http://127.0.0.1:{DEFAULT_PORT}/mcp" in connect
    assert "Authorization: Bearer $(cat ~/.local/share/zero-memory/token)" in connect


def test_the_readme_asks_a_route_that_is_there() -> None:
    (curl,) = of("curl")
    url = next(word for word in curl if word.startswith("http"))

    path = url.removeprefix(f"http://127.0.0.1:{DEFAULT_PORT}")
    assert f"POST {path}" in {route.key for route in read_deployment(REPOSITORY).routes}


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths_lead_somewhere(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    folder = (REPOSITORY / page).parent

    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    assert [link for link in linked if not (folder / link).exists()] == []


def test_the_readme_leads_to_every_page() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")

    assert [page for page in PAGES[1:] if f"({page})" not in text] == []


def test_the_readme_says_which_tools_an_agent_gets() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    listed = "".join(line for line in text.splitlines() if line.startswith("| `"))

    assert sorted(re.findall(r"`(\w+)`", listed)) == [tool.name for tool in TOOLS]


def test_every_command_of_zm_is_documented() -> None:
    text = (REPOSITORY / "docs" / "zm.md").read_text(encoding="utf-8")

    assert [name for name in COMMANDS if f"| `zm {name}" not in text] == []


def test_every_sample_event_is_documented() -> None:
    text = (REPOSITORY / "events" / "README.md").read_text(encoding="utf-8")
    samples = (REPOSITORY / "events").glob("*.json")

    assert set(re.findall(r"^\| `(.*?)` \|", text, re.MULTILINE)) == {one.name for one in samples}


def test_a_gate_of_ci_is_a_target_of_make() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    (gates,) = re.findall(r"for gate in (.*); do", script)

    for gate in gates.split():
        planned = subprocess.run(
            ["make", "--dry-run", gate], cwd=REPOSITORY, capture_output=True, check=False
        )
        assert planned.returncode == 0, planned.stderr
