"""The commands of `zm`, and which of them a mistyped one may mean."""

COMMANDS = {
    "remember": ("client.capture:remember", 'remember one statement, as zm "fact" does'),
    "recall": ("client.recall:main", "search what is remembered, or print memories whole"),
    "list": ("client.listing:main", "list what is remembered, newest first"),
    "forget": ("client.lifecycle:forget", "let go of what no longer holds"),
    "revise": ("client.lifecycle:revise", "correct a wording"),
    "close": ("client.lifecycle:close", "close a task or a question"),
    "restore": ("client.lifecycle:restore", "take any of these back"),
    "history": ("client.history:main", "what became of a memory, and who did what when"),
    "erase": ("client.lifecycle:erase", "destroy a memory for good"),
    "import": ("client.importing:main", "import notes, and what zm export wrote"),
    "export": ("client.exporting:main", "write every memory that you may read to a folder"),
    "login": ("client.login:main", "store a service's URL and your token"),
    "status": ("client.status:main", "state of the connection and of the service"),
    "scope": ("client.people:scope", "your teams: who is in them, invite, accept, leave"),
    "token": ("client.people:token", "your access tokens"),
    "serve": ("client.serve:main", "run the whole service on this machine"),
    "mcp": ("client.bridge:main", "MCP over stdio, for clients that speak only that"),
    "admin": ("admin.commands:main", "people, tokens and scopes, for who runs the service"),
}
"""Each command: the module of this package and the function in it, and what it does."""

_ALIKE = 0.75
"""`reca` is `recall`; a sentence that begins with `Restart` is not about `restore`."""


def nearest(word: str) -> str | None:
    """The command that a word is most like; None when it is like none."""
    import difflib

    return next(iter(difflib.get_close_matches(word.lower(), COMMANDS, 1, _ALIKE)), None)
