"""Conversations and tokens over stateless requests, each of which may land on another process."""

from tests.contract.isolation.conftest import Arrive


def test_a_thread_finds_its_project_in_every_process_and_renews_and_lapses(arrive: Arrive) -> None:
    ada = arrive()
    clock = ada.processes.clock
    ada.writes("Made", project_hint="git@github.com:acme/web.git")
    session = ada.call("recall", query="x", project_hint="https://github.com/acme/web")["session"]
    thread = session["thread"]
    for number in range(3):  # 60 hours in all: each use within 24 hours renews
        clock.advance(hours=20)
        assert ada.writes(f"Fact {number}", thread=thread) == ada.path("web")
    clock.advance(hours=24, seconds=1)
    assert ada.writes("Too late", thread=thread) == "scope_target_required:"
    assert ada.writes("Again", thread=thread, project_hint="web") == ada.path("web")
    assert ada.writes("And on", thread=thread) == ada.path("web")


def test_another_accounts_thread_is_nothing(arrive: Arrive) -> None:
    ada, ben = arrive(), arrive()
    thread = ada.call("remember", content="Made", project_hint="web")["session"]["thread"]
    assert ada.writes("Mine", thread=thread) == ada.path("web")
    assert ben.writes("Not mine", thread=thread) == "scope_target_required:"
    answer = ben.call("recall", query="x", thread=thread)
    assert answer["session"]["attached_project"] is None


def test_scope_then_hint_then_thread_say_where_a_write_goes(arrive: Arrive) -> None:
    ada = arrive()
    thread = ada.call("remember", content="Made", project_hint="web")["session"]["thread"]
    ada.writes("Another", project_hint="api")
    api, shop = ada.path("api"), ada.path("shop")
    assert ada.writes("A", thread=thread, project_hint="api", scope=shop) == shop
    assert ada.writes("B", thread=thread, project_hint="api") == api
    ada.call("recall", query="x", thread=thread, project_hint="api")
    assert ada.writes("C", thread=thread) == ada.path("web")
    refused = ada.writes("D", thread=thread, project_hint="/")
    assert refused == "project_hint_unresolvable:"


def test_a_transport_session_finds_its_project_in_every_process(arrive: Arrive) -> None:
    ada = arrive().connects()
    assert ada.writes("Fact 0", project_hint="web") == ada.path("web")
    for number in (1, 2):
        assert ada.writes(f"Fact {number}") == ada.path("web")
    assert ada.connects().writes("Elsewhere") == "scope_target_required:"


def test_a_thread_survives_a_reconnect(arrive: Arrive) -> None:
    ada = arrive().connects()
    thread = ada.call("remember", content="Made", project_hint="web")["session"]["thread"]
    again = ada.connects()
    assert again.attached() is None
    assert again.writes("And on", thread=thread) == ada.path("web")
    ada.processes.clock.advance(hours=25)
    assert again.attached(thread=thread) is None


def test_each_of_scope_hint_thread_and_transport_session_yields_to_the_one_before(
    arrive: Arrive,
) -> None:
    ada = arrive()
    for project in ("web", "api", "docs", "shop"):
        ada.writes("Made", project_hint=project)
    thread = ada.call("recall", query="x", project_hint="docs")["session"]["thread"]
    session = ada.connects()
    assert session.writes("Attaches", project_hint="shop") == ada.path("shop")
    named = {"scope": ada.path("web"), "project_hint": "api", "thread": thread}
    for left_out, goes in (
        (None, "web"),
        ("scope", "api"),
        ("project_hint", "docs"),
        ("thread", "shop"),
    ):
        named = {name: value for name, value in named.items() if name != left_out}
        for read in ("web", "api"):  # reading elsewhere moves nothing
            session.call("recall", query="x", project_hint=read, thread=thread)
        assert session.writes(f"Goes to {goes}", **named) == ada.path(goes)
    stranger = arrive().connects()
    assert stranger.writes("Lost", thread=thread) == "scope_target_required:"


def test_one_path_on_two_machines_may_be_two_projects(arrive: Arrive) -> None:
    ada = arrive()
    scopes = [
        ada.processes.post(
            "remember",
            ada.token,
            {"content": f"On {machine}", "project_hint": "/src/web"},
            {"zm-machine": machine},
        ).json["scope"]
        for machine in ("desk", "laptop", "desk")
    ]
    assert scopes[0] == scopes[2]
    long = ada.processes.post("describe_scope", ada.token, {}, {"zm-machine": "x" * 201})
    assert long.status == 400


def test_a_revoked_token_fails_in_every_process_within_five_seconds(arrive: Arrive) -> None:
    ada = arrive()
    here, there = ada.processes.processes
    made = ada.processes.post(
        "manage_tokens", ada.token, {"action": "make", "grants": ["memory:read"], "label": "agent"}
    ).json["token"]
    for process in (here, there):
        assert ada.processes.post("describe_scope", made, {}, process=process).status == 200
    public_id = made.split("_")[1]
    revoke = {"action": "revoke", "public_id": public_id}
    assert ada.processes.post("manage_tokens", ada.token, revoke, process=here).status == 200
    assert ada.processes.post("describe_scope", made, {}, process=here).status == 401
    ada.processes.clock.advance(seconds=5)
    assert ada.processes.post("describe_scope", made, {}, process=there).status == 401


def test_a_token_gives_another_no_more_than_it_holds_and_its_grants_are_enforced(
    arrive: Arrive,
) -> None:
    ada = arrive()
    make = {"action": "make", "grants": ["admin", "memory:read"], "days": 1}
    lesser = ada.processes.post("manage_tokens", ada.token, make).json["token"]
    more = {"action": "make", "grants": ["memory:write"]}
    assert ada.processes.post("manage_tokens", lesser, more).status == 403
    assert ada.processes.post("remember", lesser, {"content": "x", "scope": "core"}).status == 403
    listed = ada.processes.post("manage_tokens", ada.token, {"action": "list"})
    assert lesser not in listed.text
    assert lesser.split("_")[2] not in listed.text
    ada.processes.clock.advance(hours=24)
    assert ada.processes.post("describe_scope", lesser, {}).status == 401
