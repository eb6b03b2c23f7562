"""Every example of docs/how-to/from-kafka.md, spark.md and jobs.md runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadMaxRows
from typer.core import TyperGroup
from typer.main import get_command
from typer.models import CommandInfo
from typer.testing import Result

from igq.pipeline.cli.app import build_app
from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.structures import MQMD
from tests.pipeline.jobs.test_deadletter import letter
from tests.pipeline.streams import Checkpoint, Drivers, bodies
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup

pytestmark = pytest.mark.spark

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
TEXT = "".join((PAGES / name).read_text("utf-8") for name in ("from-kafka.md", "spark.md", "jobs.md"))
SHELL = "".join(re.findall(r"^```sh\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE))
#: Examples with a cluster run in test_cluster.py.
COMMANDS = [command for command in re.findall(r"^igq pipeline (.*)$", SHELL, flags=re.M) if "--master" not in command]
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """The queue of the examples."""
    group.define_structure()
    group.define_shared("ORDERS")
    group.define_shared("COPY")
    group.define_private("QM1", "DEAD.QUEUE")
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "DEAD.QUEUE"})
    dead = group.connect().open("DEAD.QUEUE", BOTH | OpenOption.SET_ALL_CONTEXT)
    letter(dead, "ORDERS", MQRC.Q_FULL, b"an order", put_appl_name=b"webshop")
    orders = group.connect().open("ORDERS", BOTH)
    for number in range(10):
        orders.put(b"order %d" % number, MQMD(priority=number % 5, correl_id=b"ABCDEFGHIJKLMNOPQRSTUVWX"))
    return orders


def test_examples_in_python_run_one_after_the_other(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    names = {"spark": spark, "GROUP": group.group.name, "URL": group.settings.redis_url}
    names |= {"TARGET": str(tmp_path / "taken"), "CHECKPOINT": str(tmp_path / "checkpoint")}
    names |= {"HISTORY": str(tmp_path / "history")}
    names |= {"LAKE": str(tmp_path / "lake"), "LAKE_CHECKPOINT": str(tmp_path / "lake checkpoint")}

    for example in EXAMPLES:
        exec(compile(example, "docs/how-to", "exec"), names)

    assert len(EXAMPLES) >= 5
    assert browse_all(orders) == []
    assert spark.read.parquet(str(tmp_path / "taken")).count() == 13
    assert spark.read.parquet(str(tmp_path / "history")).where("event = 'get'").count() >= 13


def test_the_first_program_runs_alone(group: TestGroup, tmp_path: Path) -> None:
    (program,) = re.findall(r"^```py\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "program.py").write_text(program, "utf-8")
    group.add_member("QM2")
    group.define_private("QM2", "ORDERS")
    group.connect("QM2").put1("ORDERS", b"first")
    place = {"IGQ_GROUP": group.group.name, "IGQ_REDIS_URL": str(group.settings.redis_url)}

    # As for a reader: no variable of Spark is set.
    told = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "JAVA_HOME"))}
    command = [sys.executable, "program.py"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=told | place, check=False, capture_output=True, text=True, timeout=200
    )

    assert (ended.returncode, ended.stdout.count("|     5|")) == (0, 1), ended.stderr[-2000:]


@pytest.mark.usefixtures("orders")
def test_commands_run_one_after_the_other(
    group: TestGroup, drivers: Drivers, command: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"backout_requeue_q_name": "COPY"})
    # A query that was stopped after its first batch, to be released.
    stopped_query(drivers, tmp_path / "billing-checkpoint").end(0)
    url = group.settings.redis_url
    assert url is not None

    shown: dict[str, list[str]] = {}
    for arguments in COMMANDS:
        if arguments.startswith("backout "):
            shutil.rmtree(tmp_path / "billing-checkpoint")
            stopped_query(drivers, tmp_path / "billing-checkpoint")
        result = command(*shlex.split(arguments), "--group", group.group.name, "--url", url)
        shown[arguments] = [" ".join(line.split()) for line in result.stdout.splitlines()]

    assert len(COMMANDS) >= 3
    assert [
        line for line in shown["deadletter QM1"] if line.startswith("2053 Q_FULL ORDERS QM1 webshop IGQ agent 1 8 ")
    ]
    assert len(browse_all(group.connect().open("COPY", BOTH))) == 2


def stopped_query(drivers: Drivers, directory: Path) -> Checkpoint:
    """The checkpoint of a query that was stopped after it began its first batch."""
    billing, checkpoint = drivers.start(), Checkpoint(directory)
    start = billing.initialOffset()
    end = billing.latestOffset(start, ReadMaxRows(2))
    assert len(bodies(billing, start, end)) == 2
    checkpoint.begin(0, end)
    billing.stop()
    return checkpoint


@pytest.mark.share
def test_the_page_names_every_job() -> None:
    assert [job.name for job in build_app().registered_commands if f"| `{name_of(job)}` |" not in TEXT] == []


#: Rows of the table of options: the options, and their jobs.
COMMON = TEXT.partition("## Options that mean the same")[2]
OPTIONS = re.findall(r"^\| (`--[^|]*) \| (all[^|]*|`[^|]*) \| .* \|$", COMMON, flags=re.M)


@pytest.mark.share
def test_jobs_have_exactly_the_documented_common_options() -> None:
    jobs = parameters()
    told: dict[str, set[str]] = {name: set() for name in jobs}
    for options, whose in OPTIONS:
        named = set(re.findall(r"`([a-z]+)`", whose))
        for job in set(jobs) - named if whose.startswith("all") else named:
            told[job].update(re.findall(r"--[a-z-]+", options))
    everywhere = set().union(*told.values())

    assert {"--group", "--url", "--master", "--input", "--output", "--from", "--to", "--rows"} <= everywhere
    assert {job: options & everywhere for job, options in jobs.items()} == told


@pytest.mark.share
def test_every_option_on_the_page_exists() -> None:
    jobs = parameters()
    told = re.findall(rf"`(?:igq pipeline )?({'|'.join(jobs)}) ([^`]*)`", TEXT)
    told += [tuple(command.split(" ", 1)) for command in COMMANDS if " " in command]

    assert len(told) > 10
    wrong = [(job, option) for job, text in told for option in set(re.findall(r"--[a-z-]+", text)) - jobs[job] - HELP]
    assert wrong == []


HELP = {"--help"}


def parameters() -> dict[str, set[str]]:
    """The options of each job, as its --help has them."""
    group = get_command(build_app())
    assert isinstance(group, TyperGroup)
    return {
        name: {option for each in command.params for option in each.opts if option.startswith("--")}
        for name, command in group.commands.items()
    }


def name_of(job: CommandInfo) -> str:
    return str(job.name or getattr(job.callback, "__name__", ""))
