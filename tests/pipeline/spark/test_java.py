"""The Java that Spark runs on, and its start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from igq.pipeline.errors import PipelineError
from igq.pipeline.spark.session import find_java, java_release, make_java_home


def fake_java(home: Path, version: str) -> Path:
    """A `java` that prints a version and shows its arguments."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit; fi\n'
        'for argument do echo "<$argument>"; done\n',
        encoding="utf-8",
    )
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("version", "release"), [("17.0.15", 17), ("25", 25), ("1.8.0_402", 8), ("21-ea", 21), ("nonsense", 0)]
)
def test_the_release_is_read_from_what_java_says(tmp_path: Path, version: str, release: int) -> None:
    assert java_release(fake_java(tmp_path, version)) == release


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    java = fake_java(home, "21.0.1")
    fake_java(other, "17.0.1")

    assert find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}) == java


@pytest.mark.parametrize(("version", "what"), [("11.0.2", "Java 11"), ("", "no Java that runs")])
def test_a_java_home_that_cannot_be_used_is_refused_by_name(tmp_path: Path, version: str, what: str) -> None:
    if version:
        fake_java(tmp_path, version)

    with pytest.raises(PipelineError, match=rf"JAVA_HOME={tmp_path}: {what}; allowed: Java 17 or later"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_an_old_java_on_path_gives_way_to_the_packaged_one(tmp_path: Path) -> None:
    old = fake_java(tmp_path, "11.0.2")

    found = find_java({"PATH": str(old.parent)})

    assert found != old
    assert java_release(found) >= 17


def test_the_launcher_drops_one_argument_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "it's a java", "17.0.1")
    home = make_java_home(java, tmp_path / "data")

    arguments = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "", "-Dx='y'"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["<-cp>", "<a b:*>", "<>", "<-Dx='y'>"]
    assert make_java_home(java, tmp_path / "data") == home


@pytest.mark.parametrize("ignores", ["nothing", "SIGTERM"])
def test_java_ends_with_the_python_that_started_it(tmp_path: Path, ignores: str) -> None:
    """Killed at any moment, also before Java could say where it listens."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    # Its end closes the pipe. Nothing else would within the test.
    java.write_text("#!/bin/sh\necho $$\nexec sleep 3600\n", encoding="utf-8")
    java.chmod(0o755)
    launcher = make_java_home(java, tmp_path / "data") / "bin" / "java"
    program = "import signal, subprocess, sys; subprocess.run(sys.argv[1:])"
    if ignores == "SIGTERM":
        program = program.replace("; ", "; signal.signal(signal.SIGTERM, signal.SIG_IGN); ")
    with subprocess.Popen([sys.executable, "-c", program, launcher], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) != parent.pid
        parent.kill()
        assert parent.stdout.read() == ""


@pytest.mark.parametrize("is_installed", [True, False])
@pytest.mark.parametrize("main", ["launcher.Main", "deploy.SparkSubmit", "deploy.worker.Worker"])
def test_spark_home_is_kept_from_the_driver_where_pyspark_is_installed(
    tmp_path: Path, main: str, is_installed: bool
) -> None:
    """A worker that is started with such a driver's environment needs it for its executors."""
    java = fake_java(tmp_path / "java", "21")
    java.write_text('#!/bin/sh\necho "${SPARK_HOME-none}"\n', encoding="utf-8")
    launcher = make_java_home(java, tmp_path / "data") / "bin" / "java"
    environment = {"SPARK_HOME": "/spark"} | ({"_PYSPARK_AS_INSTALLED": "1"} if is_installed else {})
    arguments = [f"org.apache.spark.{main}", "org.apache.spark.deploy.SparkSubmit" if main == "launcher.Main" else "x"]
    said = subprocess.run([launcher, *arguments], env=environment, capture_output=True, text=True, check=True).stdout

    assert said == ("none\n" if is_installed and main.endswith("SparkSubmit") else "/spark\n")


def test_workers_import_pyspark_as_it_is_installed(spark: SparkSession) -> None:
    """And not from an archive, which each of them would compile."""

    def where(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        yield pa.RecordBatch.from_pydict({"file": [pyspark.__file__]})

    import pyspark

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(where, "file string").collect()
    assert row.file == pyspark.__file__


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()

    with pytest.raises(PipelineError, match=rf"cannot write {in_the_way}"):
        make_java_home(fake_java(tmp_path / "java", "17"), in_the_way)
