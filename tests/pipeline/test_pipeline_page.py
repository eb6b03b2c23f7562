"""Every example of docs/pipeline.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH
from tests.support.members import TestGroup

pytestmark = pytest.mark.spark

TEXT = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


def test_examples_in_python_run_one_after_the_other(spark: SparkSession, group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("ORDERS")
    orders = group.connect().open("ORDERS", BOTH)
    for number in range(10):
        orders.put(b"order %d" % number, MQMD(priority=number % 5, correl_id=b"ABCDEFGHIJKLMNOPQRSTUVWX"))
    names = {"spark": spark, "GROUP": group.group.name, "URL": group.settings.redis_url}

    for example in EXAMPLES:
        exec(compile(example, "docs/pipeline.md", "exec"), names)

    spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert len(EXAMPLES) >= 2
