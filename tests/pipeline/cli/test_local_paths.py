"""Every option of `igq pipeline` that names a directory refuses an address of another file system."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from igq.pipeline.cli.app import build_app
from igq.pipeline.cli.options import local_path

DIRECTORIES = [
    (str(job.name), name)
    for job in build_app().registered_commands
    if job.callback is not None
    for name, kind in get_type_hints(job.callback).items()
    if name in inspect.signature(job.callback).parameters and kind in (Path, Path | None)
]


@pytest.mark.parametrize(("job", "name"), DIRECTORIES, ids=[" ".join(each) for each in DIRECTORIES])
def test_an_address_is_refused(job: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    group = typer.main.get_command(build_app())
    arguments: list[str] = []
    for param in group.commands[job].params:  # type: ignore[attr-defined]
        if param.name == name or param.required or param.param_type_name == "argument":
            value = "s3a://bucket/x" if param.name == name else "x"
            arguments += [value] if param.param_type_name == "argument" else [param.opts[0], value]
    result = CliRunner().invoke(
        build_app(), [job, *arguments], env={"IGQ_DATA_DIR": str(tmp_path / "data"), "COLUMNS": "400"}
    )
    assert (result.exit_code, "only directories of this machine" in result.output) == (2, True), result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "s3a:").exists()


@pytest.mark.parametrize("text", ["hdfs://node/x", "dbfs:/x", "file:///x", "abfss://a@b/c", "S3://b"])
def test_other_addresses(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        local_path(text)


@pytest.mark.parametrize("text", ["x", "/x:y/z", "a b:c", "C:/x", "2013-01-31T12:00:00"])
def test_directories(text: str) -> None:
    assert local_path(text) == Path(text)
