"""The patterns that ids have, and what people are told of each."""

_ULID = "[0-9A-HJKMNP-TV-Z]{26}"

MEMORY_ID = rf"^mem_{_ULID}$"
AUDIT_ID = rf"^aud_{_ULID}$"
PERSON_ID = rf"^p_{_ULID}$"
UPLOAD = rf"^[A-Za-z0-9_-]{{1,99}}/{_ULID}$"
PUBLIC_ID = r"^[a-z2-7]{16}$"

SHAPES = {
    MEMORY_ID: "a memory's id, which is mem_ and 26 characters",
    AUDIT_ID: "the id of a change, which is aud_ and 26 characters",
    PERSON_ID: "a person's id, which is p_ and 26 characters",
    UPLOAD: "an upload as open_upload named it",
    PUBLIC_ID: "a token's id, which is 16 letters and digits; the list shows them",
}
