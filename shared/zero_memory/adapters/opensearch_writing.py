"""Writing to an index of OpenSearch: documents and erasures, in bulks, within a budget of time."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from opensearchpy import OpenSearch
from opensearchpy.exceptions import NotFoundError

from zero_memory.adapters.opensearch_client import (
    CONFLICT,
    ERROR,
    NOT_FOUND,
    PASSING,
    Json,
    ask,
    pause,
)
from zero_memory.adapters.opensearch_documents import source_of
from zero_memory.ports.search_index import DocumentRefused, IndexDocument, IndexUnavailable

_ERASED_AT_ONCE = 500
_NO_INDEX = "index_not_found_exception"

_lines = msgspec.json.Encoder()


class Target(Struct, frozen=True):
    """Where a write goes.

    `refresh` says whether searches must see it when it is done, `may_be_gone` whether nothing is
    wrong when the alias is.
    """

    alias: str
    refresh: bool = True
    may_be_gone: bool = False


def store(
    client: OpenSearch, target: Target, documents: Sequence[IndexDocument], ends: float
) -> None:
    """Store one bulk of documents, each unless a revision as high is there.

    Raises DocumentRefused, and IndexUnavailable past `ends`.
    """
    pending = {each.memory_id: each for each in documents}
    while pending:
        operations = [
            [
                {
                    "index": {
                        "_id": each.memory_id,
                        "version": each.revision,
                        "version_type": "external",
                    }
                },
                source_of(each),
            ]
            for each in pending.values()
        ]
        refused = _bulk(client, target, operations, ends)
        pending = {each: pending[each] for each in _forgotten(client, target, refused, ends)}
        if pending:
            pause(ends)


def remove(client: OpenSearch, target: Target, memory_ids: Sequence[str], ends: float) -> None:
    """Remove memories: from answers at once, from the files with the merge that this starts."""
    deletes = [[{"delete": {"_id": memory_id}}] for memory_id in memory_ids]
    for start in range(0, len(deletes), _ERASED_AT_ONCE):
        _bulk(client, target, deletes[start:][:_ERASED_AT_ONCE], ends)
    ask(
        lambda wait: client.indices.forcemerge(
            index=target.alias,
            params={
                "only_expunge_deletes": "true",
                "wait_for_completion": "false",
                "request_timeout": wait,
            },
        ),
        ends,
    )


def looked_up(client: OpenSearch, alias: str, memory_ids: Sequence[str], ends: float) -> list[Json]:
    """Whether each of these memories is there, and at which version, whatever was refreshed.

    Raises NotFoundError without the alias, IndexUnavailable for an answer in part.
    """
    answer = ask(
        lambda wait: client.mget(
            index=alias,
            body={"ids": list(memory_ids)},
            params={"_source": "false", "request_timeout": wait},
        ),
        ends,
    )
    for each in answer["docs"]:
        if "error" in each:
            if each["error"]["type"] == _NO_INDEX:
                raise NotFoundError(NOT_FOUND, _NO_INDEX, {})
            raise IndexUnavailable("The search engine answers in part only.")
    return answer["docs"]


def _forgotten(
    client: OpenSearch, target: Target, memory_ids: Sequence[str], ends: float
) -> list[str]:
    """Those that were refused for the version of a memory that is erased.

    The engine forgets such a version within a second (`index.gc_deletes`).
    """
    if not memory_ids:
        return []
    try:
        found = looked_up(client, target.alias, memory_ids, ends)
    except NotFoundError:
        if not target.may_be_gone:
            raise
        return []
    return [each["_id"] for each in found if not each["found"]]


def _bulk(
    client: OpenSearch, target: Target, operations: Sequence[Sequence[Json]], ends: float
) -> list[str]:
    """Do them; answers the ids that were refused for their version.

    What the engine was too busy for is tried again.
    """
    conflicts: list[str] = []
    waiting = list(operations)
    refresh = "true" if target.refresh else "false"
    while waiting:
        # The client's own encoder takes several times as long.
        body = _lines.encode_lines([line for operation in waiting for line in operation])
        answer = ask(
            lambda wait, body=body: client.bulk(
                index=target.alias,
                body=body,
                params={"refresh": refresh, "require_alias": "true", "request_timeout": wait},
            ),
            ends,
        )
        results = [next(iter(each.values())) for each in answer["items"]]
        again: list[Sequence[Json]] = []
        for operation, result in zip(waiting, results, strict=True):
            if result["status"] == CONFLICT:
                conflicts.append(result["_id"])
            elif result["status"] in PASSING:
                again.append(operation)
            elif not _is_done(target, result):
                raise DocumentRefused(result["error"]["type"])
        waiting = again
        if waiting:
            pause(ends)
    return conflicts


def _is_done(target: Target, result: Json) -> bool:
    """Whether an operation is done, or has nothing left to do it to."""
    if result["status"] < ERROR:
        return True
    gone = result["status"] == NOT_FOUND
    return gone and ("error" not in result or target.may_be_gone)
