"""Tables that a job keeps for a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from igq.pipeline.spark.interim_tables import keeping, kept, settled

pytestmark = [pytest.mark.spark, pytest.mark.share]


def test_a_settled_table_is_in_files_and_not_in_the_memory_of_executors(spark: SparkSession, tmp_path: Path) -> None:
    """A lost executor loses nothing of it; test_cluster.py kills one."""
    scratch = tmp_path / "scratch"
    (scratch / "0").mkdir(parents=True)
    (scratch / "0" / "part-of-a-killed-job").touch()
    with keeping(scratch):
        table = settled(spark.range(10))
        again = settled(table.where("id > 4"))

        assert sorted(row.id for row in again.collect()) == [5, 6, 7, 8, 9]
        assert {Path(name.removeprefix("file:")).parent for name in again.inputFiles()} == {Path(f"//{scratch}/1")}
        assert table.dtypes == spark.range(10).dtypes
    assert not scratch.exists()


def test_exactly_the_kept_tables_are_given_up(spark: SparkSession) -> None:
    own = spark.range(3).persist()
    with keeping():
        mine = kept(spark.range(4))
        assert [mine.is_cached, own.is_cached] == [True, True]
    assert [mine.is_cached, own.is_cached] == [False, True]
    own.unpersist()


def test_no_table_is_settled_without_an_owner_to_remove_it(spark: SparkSession) -> None:
    with pytest.raises(RuntimeError, match="only while tables are kept"):
        settled(spark.range(1))
