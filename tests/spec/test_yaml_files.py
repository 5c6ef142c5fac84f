"""YAML and JSON as files: scalars, lines, encodings, limits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from spec.spec_texts import GOOD, JOB_TEXT

from supercloud.errors import SpecError
from supercloud.spec.document import parse_yaml
from supercloud.spec.loader import load, load_job


@pytest.mark.parametrize(
    "text, value",
    [
        ("yes", "yes"),
        ("1:30", "1:30"),
        ("0777", "0777"),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("'5'", "5"),
        ("-3", -3),
        ("2026-01-01", "2026-01-01"),
        ("0x10", "0x10"),
        (".5", 0.5),
        ("0", 0),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    data = parse_yaml(f"a: {text}").data
    assert data == {"a": value} and type(data["a"]).__mro__[-2] in (type(value), int, float, str, bool) or value is None


def test_anchors_and_merges_are_read() -> None:
    data = parse_yaml("base: &b {x: 1, y: 2}\na: {<<: *b, y: 3}\nb: *b").data
    assert data["a"] == {"x": 1, "y": 3} and data["b"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: [1,", "flow"),
        ("a: 1\na: 2", "duplicate key 'a'"),
        ("a: !!python/object:os.system x", "tag"),
        ("? [a]\n: 1", "a key must be a string"),
        ("a: {<<: 3}", "merges mappings only"),
        ("\t- x", "starts with a tab"),
    ],
)
def test_errors_in_yaml_have_a_line(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        parse_yaml(text, "x.yaml").require_unique_keys()
    assert all(item.line >= 1 and item.file == "x.yaml" for item in caught.value.findings)


@pytest.mark.slow
def test_documents_with_excessive_aliases_are_rejected() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    with pytest.raises(SpecError, match="aliases repeat"):
        parse_yaml(bomb)
    with pytest.raises(SpecError):
        parse_yaml("[" * 3000)


def test_errors_in_json_have_a_line(tmp_path: Path) -> None:
    data = parse_yaml(GOOD).data
    data["scheduler"]["version"] = "24.05"
    data["pools"][0]["nods"] = 3
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(data, indent="\t"))
    with pytest.raises(SpecError) as caught:
        load(file)
    (finding,) = caught.value.findings
    assert finding.path == "pools[0].nods" and file.read_text().splitlines()[finding.line - 1].strip().startswith(
        '"nods"'
    )
    file.write_text('{"name": "a", "name": "b"}')
    with pytest.raises(SpecError, match="duplicate"):
        load(file)
    file.write_text('{"name": \n "a",}')
    with pytest.raises(SpecError) as caught:
        load(file)
    assert caught.value.findings[0].line == 2


@pytest.mark.parametrize("content", [b"", b"- a\n", b"42", b"\xff\xfe", b"\x00", b"null"])
def test_files_without_a_spec_are_rejected(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_bytes(content)
    with pytest.raises(SpecError, match="cluster.yaml"):
        load(file)


def test_missing_files_and_folders_are_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(SpecError, match=str(path)):
            load(path)


@pytest.mark.parametrize(
    "data, line, message",
    [
        (JOB_TEXT.encode("utf-16"), 0, "line 1, byte 0.*it is UTF-16; save it as UTF-8"),
        (JOB_TEXT.encode("utf-16-le"), 1, "#x0000 is not allowed in YAML.*looks like UTF-16.*iconv"),
        (JOB_TEXT.encode("utf-32"), 0, "it is UTF-32; save it as UTF-8"),
        (b"\x7fELF\x02\x01\x01" + bytes(20) + b"\xff\xfe", 0, "looks like a program or an archive"),
        ("name: \u00e4".encode("latin-1"), 0, "line 1, byte 6.*save it as UTF-8"),
        (b'name: a\nscript: "a\x1b"\n', 2, "#x001b is not allowed in YAML.*remove it"),
        (b"name: a\nplace:\n\tpools: [a]\n", 3, "starts with a tab.*replace the tab with spaces"),
        (b"name: a\n---\nname: b\n", 3, "a second document starts here.*to a separate file"),
        (b'name: "a\nscript: x\n', 3, "it starts at line 1.*correct the syntax"),
        (b"name: a\nname: b\nscript: x\n", 2, "duplicate key 'name'.*remove one"),
        (b"name: a\nscript: |\n" + b"  x\n" * 600_000, 2, "is longer than 1048576.*use 1048576 characters or fewer"),
    ],
    ids=range(11),
)
def test_an_unreadable_file_is_reported_with_location_and_fix(
    tmp_path: Path, data: bytes, line: int, message: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(data)
    with pytest.raises(SpecError) as caught:
        load_job(file)
    assert re.search(message, str(caught.value), re.S) and "job.yaml" in str(caught.value)
    assert not line or [finding.line for finding in caught.value.findings][:1] == [line]


def test_byte_order_marks_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + JOB_TEXT.replace("\n", "\r\n").encode())
    assert load_job(file).model.name == "a"


def test_a_line_with_a_wrong_indentation_gets_the_one_of_its_neighbors() -> None:
    for text, line, hint in (
        ("pools:\n  - {name: t}\n  facility: {}\n", 3, "begin it with '- ' as an item"),
        ("site:\n    kind: onprem\n  location: london\n", 3, "2 spaces before it; indent it by 0 or 4"),
    ):
        with pytest.raises(SpecError) as caught:
            parse_yaml(text)
        [finding] = caught.value.findings
        assert finding.line == line and hint in finding.hint
