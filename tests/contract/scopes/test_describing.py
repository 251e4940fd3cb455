"""Who is in a scope, told a page at a time to those who are."""

from typing import Any

import pytest

from tests.contract.scopes.conftest import Someone
from tests.ports import Ports
from zero_memory.adapters.table_index import TableIndex
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.contracts.memory import DescribeScopeArguments
from zero_memory.ports.table import MAX_ACTIONS, Put
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.ids import new_person_id
from zero_memory.scopes.members import accept, invite, make_team
from zero_memory.scopes.model import GRANTS, Member
from zero_memory.tools import describe_scope

CROWD = 120


def _described(someone: Someone, **arguments: Any) -> Any:
    ports = Ports(someone.table, TableIndex(someone.table, limit=10), someone.clock)
    caller = Caller(someone.id, someone.id, frozenset(GRANTS))
    answer = describe_scope.run(ports, caller, DescribeScopeArguments(**arguments))
    return next(each for each in answer.scopes if each.path == arguments.get("scope", each.path))


def test_a_crowd_is_told_whole_page_by_page_and_each_page_to_its_asker_alone(
    ada: Someone, ben: Someone
):
    path = make_team(ada.table, ada.clock, ada.access, "Web").path
    code = invite(ada.table, ada.clock, ada.access, path, "reader")
    accept(ben.table, ben.clock, ben.access, code)
    scope = ada.access.by_path[path].scope
    crowd = [new_person_id(ada.clock.now()) for _ in range(CROWD)]
    for start in range(0, CROWD, MAX_ACTIONS):
        some = crowd[start : start + MAX_ACTIONS]
        ada.table.transact([Put(Member(scope, person, "reader")) for person in some])

    first = _described(ada, scope=path)
    last = _described(ada, scope=path, cursor=first.cursor)

    assert last.cursor is None
    told = [member.person for page in (first, last) for member in page.members]
    assert sorted(told) == sorted([ada.id, ben.id, *crowd])
    for asker, arguments in (
        (ben, {"scope": path, "cursor": first.cursor}),
        (ada, {"scope": "personal", "cursor": first.cursor}),
        (ada, {"cursor": first.cursor}),
    ):
        with pytest.raises(Refusal) as refused:
            _described(asker, **arguments)
        assert refused.value.code is ErrorCode.VALIDATION_FAILED


def test_a_few_are_told_at_once(ada: Someone):
    path = make_team(ada.table, ada.clock, ada.access, "Web").path

    described = _described(ada, scope=path)

    assert [(each.person, each.role) for each in described.members] == [(ada.id, "admin")]
    assert described.cursor is None
