"""What any store of artifacts keeps to: a folder of this machine, and a bucket."""

import errno
import io
import os
import stat
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import url2pathname

import pytest
from botocore.response import StreamingBody

from zero_memory.adapters.files import KEPT_S, FileArtifacts
from zero_memory.ports import artifacts as port
from zero_memory.ports.artifacts import Artifacts, ArtifactTooLong

KEY = "p_1/notes.zip"
BUCKET = "artifacts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "artifacts"


@pytest.fixture(scope="module")
def bucket() -> Generator[Any]:
    from moto import mock_aws

    from zero_memory.adapters.s3 import s3_client

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        with mock_aws():
            client = s3_client()
            client.create_bucket(
                Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
            )
            yield client


@pytest.fixture
def in_a_folder(folder: Path) -> FileArtifacts:
    return FileArtifacts(folder)


@pytest.fixture
def in_a_bucket(bucket: Any) -> Artifacts:
    from zero_memory.adapters.s3 import S3Artifacts

    for each in bucket.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        bucket.delete_object(Bucket=BUCKET, Key=each["Key"])
    return S3Artifacts(bucket, BUCKET)


@pytest.fixture(params=["in_a_folder", "in_a_bucket"])
def artifacts(request: pytest.FixtureRequest) -> Artifacts:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\r\n", b"x" * 100_000])
def test_what_is_put_is_what_is_got(artifacts: Artifacts, content: bytes):
    artifacts.put(KEY, content)
    assert artifacts.get(KEY) == content


def test_a_later_file_takes_the_place_of_an_earlier_one(artifacts: Artifacts):
    artifacts.put(KEY, b"long, and the first")
    artifacts.put(KEY, b"second")
    assert artifacts.get(KEY) == b"second"


def test_where_nothing_is_nothing_is_got_and_nothing_to_delete(artifacts: Artifacts):
    assert artifacts.get(KEY) is None
    artifacts.delete(KEY)


def test_a_deleted_file_is_gone_and_others_stay(artifacts: Artifacts):
    artifacts.put(KEY, b"one")
    artifacts.put("p_2/notes.zip", b"two")
    artifacts.delete(KEY)
    assert artifacts.get(KEY) is None
    assert artifacts.get("p_2/notes.zip") == b"two"


def test_all_are_cleared_of_whomever_and_the_next_is_kept(artifacts: Artifacts):
    keys = [KEY, "p_1/upload", "p_2/notes.jsonl"]
    for key in keys:
        artifacts.put(key, b"copy")
    artifacts.clear()
    artifacts.clear()
    assert [artifacts.get(key) for key in keys] == [None, None, None]
    artifacts.put(KEY, b"next")
    assert artifacts.get(KEY) == b"next"


def test_more_than_a_listing_holds_is_cleared(
    in_a_bucket: Artifacts, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    for number in range(5):
        in_a_bucket.put(f"p_1/{number}", b"copy")
    lists = bucket.list_objects_v2

    def lists_two(**at: Any) -> Any:
        return lists(MaxKeys=2, **at)

    monkeypatch.setattr(bucket, "list_objects_v2", lists_two)
    in_a_bucket.clear()
    assert "Contents" not in bucket.list_objects_v2(Bucket=BUCKET)


def test_what_a_bucket_does_not_delete_is_said(
    in_a_bucket: Artifacts, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    in_a_bucket.put(KEY, b"copy")

    def keeps(**_: Any) -> Any:
        return {"Errors": [{"Key": KEY, "Code": "InternalError"}]}

    monkeypatch.setattr(bucket, "delete_objects", keeps)
    with pytest.raises(port.ArtifactsUnavailable):
        in_a_bucket.clear()


def test_a_bucket_that_hangs_up_in_the_middle_of_a_file_says_so(
    in_a_bucket: Artifacts, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    def half(**_: Any) -> Any:
        return {"ContentLength": 8, "Body": StreamingBody(io.BytesIO(b"half"), 8)}

    monkeypatch.setattr(bucket, "get_object", half)
    with pytest.raises(port.ArtifactsUnavailable):
        in_a_bucket.get(KEY)


def test_a_cleared_folder_has_nothing_of_anybody_and_no_draft(in_a_folder: Artifacts, folder: Path):
    in_a_folder.put(KEY, b"copy")
    (folder / "p_1" / ".draft").write_bytes(b"of a process that died")
    in_a_folder.clear()
    assert list(folder.iterdir()) == []


def test_what_is_too_long_to_hold_is_not_read(
    artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
):
    artifacts.put(KEY, b"12345")
    for module in ("files", "s3"):
        monkeypatch.setattr(f"zero_memory.adapters.{module}.MAX_BYTES", 4)
    with pytest.raises(ArtifactTooLong):
        artifacts.get(KEY)


@pytest.mark.parametrize(
    "key", ["", "notes", "../notes", "p_1/../notes", "p_1/.", "p_1/.hidden", "/etc/passwd", "a/b/c"]
)
@pytest.mark.parametrize("call", ["get", "delete", "link", "open_upload"])
def test_a_key_leads_nowhere_else(artifacts: Artifacts, key: str, call: str):
    ask: Callable[[str], object] = getattr(artifacts, call)
    with pytest.raises(ValueError, match="key"):
        ask(key)


def test_a_folder_links_to_files_and_takes_uploads_as_files(in_a_folder: Artifacts):
    in_a_folder.put(KEY, b"fetched")
    fetched = Path(url2pathname(urlsplit(in_a_folder.link(KEY)).path))
    assert fetched.read_bytes() == b"fetched"

    uploaded = Path(url2pathname(urlsplit(in_a_folder.open_upload("p_1/upload")).path))
    uploaded.write_bytes(b"uploaded")
    assert in_a_folder.get("p_1/upload") == b"uploaded"


def test_a_folder_is_for_its_owner_alone(in_a_folder: Artifacts, folder: Path):
    in_a_folder.put(KEY, b"private")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "p_1")}
    assert modes == {0o700}
    assert stat.S_IMODE((folder / KEY).stat().st_mode) == 0o600


def test_a_folder_forgets_after_a_day(in_a_folder: FileArtifacts, folder: Path):
    in_a_folder.remove_expired()
    for name, age in (("old", KEPT_S + 60), ("young", KEPT_S - 60)):
        in_a_folder.put(f"p_1/{name}", b"")
        os.utime(folder / "p_1" / name, (time.time() - age, time.time() - age))
    in_a_folder.remove_expired()
    assert in_a_folder.get("p_1/old") is None
    assert in_a_folder.get("p_1/young") == b""


def test_a_file_that_has_no_room_leaves_nothing_of_itself(
    in_a_folder: FileArtifacts, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(port.ArtifactsUnavailable):
        in_a_folder.put(KEY, b"half")
    assert list(folder.glob("*/*")) == []


def test_a_folder_that_does_not_answer_says_so(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(port.ArtifactsUnavailable):
        FileArtifacts(tmp_path / "file" / "artifacts").put(KEY, b"")


@pytest.mark.parametrize("call", ["link", "open_upload"])
def test_a_buckets_links_are_signed_for_one_key_and_a_quarter_of_an_hour(
    in_a_bucket: Artifacts, call: str
):
    ask: Callable[[str], str] = getattr(in_a_bucket, call)
    link = urlsplit(ask(KEY))
    assert (link.scheme, link.path) == ("https", f"/{KEY}")
    assert link.hostname == f"{BUCKET}.s3.eu-central-1.amazonaws.com"
    assert parse_qs(link.query)["X-Amz-Expires"] == ["900"]
    assert parse_qs(link.query)["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
