"""What an agent is told when it connects.

The first segment is a router of at most 250 characters that stands alone, since Codex shows no
more before a tool search. Clients that cut get whole segments up to their cut.
"""

import re

from zero_memory.mcp.revision import ClientInfo

_SEPARATOR = "\n\n"

_TEXT = """\
Long-term memory shared by your person's agents. Call recall before you search code or the web,
and before deriving an answer anew; call remember when you learn something that will still hold.
Pass project_hint first, thread always.

Recall first: ask for topics in English, in your own words or with exact identifiers (error
codes, paths, flags). A hit shows an excerpt; recall with ids, or the resource
zm://memory/{id}, gives the whole memory. Check what you recall against the code before you act
on it, and prefer the newer of two that disagree.

Remember at the moment of discovery, not at the end: one self-contained statement a memory, in
English, with its why and the names it is about. Store decisions with their reasons,
preferences, pitfalls and fixes that are not obvious; not transcripts, not what the code itself
says, never a secret: text that holds a credential is refused. Translate what was said in
another language, and keep its words in original, with language.

Where things go: project_hint (git remote, repository root path or name) on your first call
attaches the session to that project. Each answer's session names a thread; echo it as thread on
every later call. Reading elsewhere never moves where you write. scope core or personal is for
what holds in every project, and in a project a request: without a judge, the project takes all
but preferences for personal, and routing_reason says so.

Corrections: the same statement in better words, revise; a new truth, remember with supersedes;
no truth left, forget. restore_memory takes each back. When remember answers similar_existing,
look: if yours replaces one, remember again with supersedes.

Kinds: fact lasts; decision is a choice with its rationale; preference is how someone likes
things done; convention is an agreement that no tool enforces; gotcha is a pitfall or a fix that
is not obvious; reference points outside; episode sums up an event; task is work for a later
session and open-question waits for its answer: use these two for hand-offs only.

An error's code says whose turn it is: validation_failed, fix the arguments as the message says;
conflict, read again and decide; rate_limited, wait; internal, quote the id. A call repeated
with the same idempotency_key happens once.
"""

SEGMENTS = tuple(" ".join(segment.split()) for segment in _TEXT.split(_SEPARATOR))

_CLAUDE_CODE_CUT = 4_096
_OLD_CLAUDE_CODE_CUT = 2_048
"""Characters that Claude Code shows, from 2.1.300 on and before (measured at 2.1.332, 2.1.197)."""

_CLAUDE_CODE_WIDENED = (2, 1, 300)


def instructions_for(client: ClientInfo | None) -> str:
    """The instructions, as far as this client shows them, cut between segments."""
    limit = _limit(client)
    told = SEGMENTS[0]
    for segment in SEGMENTS[1:]:
        longer = told + _SEPARATOR + segment
        if limit is not None and len(longer) > limit:
            break
        told = longer
    return told


def _limit(client: ClientInfo | None) -> int | None:
    if client is None or client.name != "claude-code":
        return None
    numbers = re.match(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", client.version)
    version = tuple(int(number) for number in numbers.groups()) if numbers else ()
    return _CLAUDE_CODE_CUT if version >= _CLAUDE_CODE_WIDENED else _OLD_CLAUDE_CODE_CUT
