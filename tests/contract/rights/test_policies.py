"""What each function may do, by hand, against the roles that SAM makes of the template."""

import pytest

from tests.contract.rights.policy import Right, kinds_of_resources, roles

Rights = set[Right]


def on(resource: str, *actions: str, keys: tuple[str, ...] = ()) -> Rights:
    return {Right(action, resource, keys) for action in actions}


READS = on("Table", "dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query")
WRITES = on("Table", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem")
LISTS = on("Table/index/gsi1", "dynamodb:Query")
ATTACHES = on("Table", "dynamodb:PutItem", keys=("TH#*", "Q#*"))
SETTLES = on("Table", "dynamodb:DeleteItem", keys=("S#*",))
SWEEPS = on("Table", "dynamodb:DeleteItem", "dynamodb:PutItem", keys=("SWEEP#*",))
LINKS = on("Artifacts/*", "s3:GetObject", "s3:PutObject")
CLEARS_COPIES = on("Artifacts/*", "s3:DeleteObject") | on("Artifacts", "s3:ListBucket")
TAKES_UPLOADS = LINKS | CLEARS_COPIES
PARKS = on("IndexerParked", "sqs:SendMessage")
IS_CALLED_BY_THE_STREAM = on(
    "Table/stream/*",
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
) | on("StreamFailures", "sqs:SendMessage")
IS_CALLED_BY_THE_QUEUE = on(
    "IndexerParked", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"
)

ROLES: dict[str, Rights] = {
    "remember": READS | WRITES | LISTS,
    "recall": READS | LISTS | ATTACHES,
    "forget": READS | WRITES,
    "restore_memory": READS | WRITES,
    "list_memories": READS | LISTS | ATTACHES,
    "describe_scope": READS | LISTS | ATTACHES,
    "revise": READS | WRITES,
    "close_loop": READS | WRITES,
    "challenge": READS | WRITES,
    "link": READS | WRITES,
    "move_memories": READS | WRITES,
    "erase_memory": READS | WRITES | CLEARS_COPIES,
    "entities": READS | LISTS | ATTACHES,
    "memory_history": READS | ATTACHES,
    "import_memory": READS | WRITES | TAKES_UPLOADS,
    "export_memories": READS | LINKS | ATTACHES,
    "delete_account": READS | WRITES | CLEARS_COPIES,
    "share": READS | WRITES,
    "unshare": READS | WRITES,
    "manage_scope": READS | WRITES,
    "manage_tokens": READS | WRITES,
    "mcp": READS | WRITES | LISTS | TAKES_UPLOADS,
    "oauth": set(),
    "indexer": READS | SETTLES | PARKS | IS_CALLED_BY_THE_STREAM | IS_CALLED_BY_THE_QUEUE,
    "tick": READS | SETTLES | SWEEPS,
}

LOOKS = on("SearchStack/memories-*", "es:ESHttpGet")
SEARCHES = LOOKS | on("SearchStack/memories/_msearch", "es:ESHttpPost")
ERASES = LOOKS.union(
    *(
        on(f"SearchStack/{alias}/{api}", "es:ESHttpPost")
        for alias in ("memories", "memories-building")
        for api in ("_bulk", "_forcemerge")
    )
)
INDEXES = ERASES.union(
    on("SearchStack/memories/_mget", "es:ESHttpPost"),
    on("SearchStack/memories-building/_mget", "es:ESHttpPost"),
    on("SearchStack/memories-first", "es:ESHttpPut"),
)
WITH_DOMAIN: dict[str, Rights] = {
    "remember": SEARCHES,
    "recall": SEARCHES,
    "erase_memory": ERASES,
    "delete_account": ERASES,
    "mcp": SEARCHES | ERASES,
    "indexer": INDEXES,
    "tick": INDEXES | SEARCHES | on("SearchStack/memories-*/_mapping", "es:ESHttpPut"),
}
WITH_IDENTITY: dict[str, Rights] = {
    "oauth": on(
        "IdentityStack", "cognito-idp:CreateUserPoolClient", "cognito-idp:ListUserPoolClients"
    )
}

OF_AWS = {"AWSLambdaBasicExecutionRole", "AWSXrayWriteOnlyAccess"}
"""They write logs and traces, of whatever name; SAM gives them to every function."""


@pytest.mark.parametrize("function", sorted(ROLES))
def test_a_function_has_the_rights_that_it_needs_and_no_other(function: str) -> None:
    assert roles()[function].rights == ROLES[function]
    assert roles()[function].managed == OF_AWS


@pytest.mark.parametrize("function", sorted(ROLES))
def test_a_domain_and_sign_in_give_a_function_what_it_needs_there_alone(function: str) -> None:
    plain = roles()[function].rights

    for condition, more in (("HasDomain", WITH_DOMAIN), ("HasIdentity", WITH_IDENTITY)):
        assert roles(condition)[function].rights - plain == more.get(function, set())


def test_every_role_is_a_functions_and_holds_all_that_is_given_to_it() -> None:
    kinds = kinds_of_resources()

    assert roles().keys() == ROLES.keys()
    assert kinds["AWS::IAM::Role"] == len(ROLES)
    assert {kind for kind in kinds if kind.startswith("AWS::IAM::")} == {"AWS::IAM::Role"}


def test_no_right_is_for_everything() -> None:
    """Where a `*` stands, a resource of the stack's own stands before it, or a kind of key."""
    every = [right for role in roles("HasDomain", "HasIdentity").values() for right in role.rights]

    assert [right for right in every if "*" in right.action] == []
    assert [right for right in every if not right.resource.partition("*")[0].strip("/")] == []
    assert [key for right in every for key in right.partitions if not key.partition("*")[0]] == []
