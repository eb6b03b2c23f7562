"""The file of records by itself: every descriptor comes back, and a line that is wrong is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from igq.errors import CommandError
from igq.tools.unloading.record_file import Header, Record, RecordWriter, check_file, read_header, read_records
from sharedq.mqi.structures import MQMD

pytestmark = pytest.mark.share

NUMBER = st.integers(-(2**31), 2**31 - 1)
IDENTIFIER = st.binary(min_size=24, max_size=24)
TEXT = st.binary(max_size=48)
MDS = st.builds(
    MQMD,
    version=st.sampled_from([1, 2]),
    report=NUMBER,
    expiry=NUMBER,
    priority=NUMBER,
    msg_id=IDENTIFIER,
    correl_id=IDENTIFIER,
    group_id=IDENTIFIER,
    accounting_token=st.binary(min_size=32, max_size=32),
    user_identifier=TEXT,
    put_appl_name=TEXT,
    reply_to_q=TEXT,
    format=TEXT,
    put_date=TEXT,
    offset=NUMBER,
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda each: st.lists(each, max_size=3)
)
ONCE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def written(path: Path, records: list[Record]) -> Header:
    path.unlink(missing_ok=True)
    with RecordWriter.create(path, Header.new("QSG1", "QM1", "Q", "now", is_removed=False)) as writer:
        writer.write(records)
        return writer.complete()


@ONCE
@given(st.lists(st.tuples(MDS, st.binary(max_size=300)), max_size=4))
def test_every_descriptor_and_body_comes_back(tmp_path: Path, messages: list[tuple[MQMD, bytes]]) -> None:
    path = tmp_path / "f"
    header = written(path, [Record(md, body, "APPL1", "7x", 3) for md, body in messages])
    assert read_header(path) == header
    check_file(path, header)
    assert [(record.md, record.body) for _, record in read_records(path)] == messages


@ONCE
@given(st.dictionaries(st.sampled_from(["md", "body", "structure", "id", "unit"]), ANYTHING))
def test_a_line_of_anything_is_a_message_or_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "f"
    written(path, [Record(MQMD(), b"body")])
    header, line = path.read_bytes().split(b"\n", 1)
    path.write_bytes(header + b"\n" + json.dumps(json.loads(line) | changes).encode() + b"\n")
    said = "line 2"
    try:
        list(read_records(path))
    except CommandError as error:
        said = str(error)
    assert "line 2" in said


@pytest.mark.parametrize("content", [b"\xff\n", b"null\n", b"{}\n", b'{"kind":"igq unload"}\n', b"1" * 5000])
def test_any_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(CommandError, match="is no file of igq unload"):
        read_header(path)
