"""How many calls a person may make, at the edge."""

from tests.contract.isolation.edge import Answer, Edge, Person, arrives, edge
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import set_quota
from zero_memory.scopes.limits import UNASKED

LIMIT = 5


def answers(person: Person, calls: int) -> list[Answer]:
    return [person.call("describe_scope") for _ in range(calls)]


def test_a_call_too_many_is_answered_429_with_the_seconds_to_wait() -> None:
    with edge("sqlite, no index") as at:
        at.settings = Settings(calls_a_minute=LIMIT, log_level="CRITICAL")
        ada, ben = arrives(at), arrives(at)
        *passed, refused = answers(ada, UNASKED + LIMIT + 1)
        assert {each.status for each in passed} == {200}
        assert refused.status == 429
        assert refused.json["error"]["code"] == "rate_limited"
        wait = int(refused.headers["retry-after"])
        assert 0 < wait <= 60
        assert ben.call("describe_scope").status == 200
        at.clock.advance(seconds=wait)
        assert ada.call("describe_scope").status == 200


def test_a_person_may_have_a_quota_of_their_own() -> None:
    with edge("sqlite, no index") as at:
        ada = arrives(at)
        quota(at, ada, LIMIT)
        assert answers(ada, UNASKED + LIMIT + 1)[-1].status == 429
        quota(at, ada, None)
        assert ada.call("describe_scope").status == 200


def quota(at: Edge, person: Person, calls: int | None) -> None:
    at.clock.advance(seconds=60)
    set_quota(at.table, person.id, calls)
