"""The alert rules and the dashboard in config/: valid, and about metrics that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from igq.monitoring.metrics import METRICS

ROOT = Path(__file__).parents[2]
ALERTS, DASHBOARD = ROOT / "config" / "prometheus-alerts.yml", ROOT / "config" / "grafana-dashboard.json"
PAGE = ROOT / "docs" / "how-to" / "monitor.md"
_SELECTED = re.compile(r"\b((?:ibmmq|igq)_\w+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_BY = re.compile(r"\bby \(([^)]*)\)")
#: Labels that Prometheus adds.
ADDED = {"instance", "job"}


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load(ALERTS.read_text("utf-8"))
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    shown = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    return [*(rule["expr"] for rule in rules()), *shown]


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    found = _SELECTED.findall(expression)
    assert found
    known = set(ADDED)
    for name, selected in found:
        labels = METRICS[name].labels
        known |= set(labels)
        assert set(_LABEL.findall(selected)) <= {*labels, *ADDED}, name
    for by in _BY.findall(expression):
        assert {label.strip() for label in by.split(",")} <= known


def test_promtool_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool here")
    done = subprocess.run([promtool, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_and_stays_silent(tmp_path: Path) -> None:
    """Prometheus' own engine evaluates each rule on figures that are wrong, and on figures that are well."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool here")
    wrong: dict[str, dict[str, float]] = {
        "IgqRedisAway": {'igq_redis_up{group="G"}': 0},
        "IgqManagerFailed": {'igq_qmgr_failed{group="G",qmgr="A"}': 1},
        "IgqNoManagerRuns": {'ibmmq_qmgr_status{group="G",qmgr="A"}': 0},
        "IgqLeaseOverdue": {'igq_leases_overdue{group="G"}': 1},
        "IgqRecoveryStuck": {'igq_recoveries{group="G",state="DELAYED",instance="i"}': 1},
        "IgqAgentInRetry": {'igq_agent_state{group="G",qmgr="A",state="RETRY"}': 1},
        "IgqAgentInLongRetry": {'igq_agent_long_retries{group="G",qmgr="A"}': 1},
        "IgqQueueOld": {'ibmmq_queue_oldest_message_age{group="G",qmgr="A",queue="Q"}': 601},
        "IgqQueueDeep": {
            'ibmmq_queue_depth{group="G",qmgr="A",queue="Q"}': 81,
            'ibmmq_queue_attribute_max_depth{group="G",qmgr="A",queue="Q"}': 100,
        },
        "IgqStreamBehind": {'igq_stream_oldest_message_age{group="G",stream="s"}': 601},
        "IgqDeadLetters": {'ibmmq_queue_depth{group="G",qmgr="A",queue="SYSTEM.DEAD.LETTER.QUEUE"}': 1},
        "IgqInDoubt": {'igq_units_of_work_in_doubt_oldest_seconds{group="G",qmgr="A"}': 301},
        "IgqUnitOfWorkOld": {'igq_units_of_work_oldest_seconds{group="G",qmgr="A"}': 1801},
        "IgqStructureFailed": {'igq_structure_state{group="G",structure="S",state="FAILED"}': 1},
        "IgqBackupFailed": {'igq_structure_backup_failed{group="G",structure="S"}': 1},
        "IgqBackupOld": {'igq_structure_backup_age_seconds{group="G",structure="S"}': 700_000},
        "IgqRedisMemory": {
            'igq_redis_memory_bytes{group="G",node="n"}': 81,
            'igq_redis_memory_max_bytes{group="G",node="n"}': 100,
        },
        "IgqRedisSlow": {'igq_redis_round_trip_seconds{group="G",node="n"}': 0.2},
    }
    assert wrong.keys() == {rule["alert"] for rule in rules()} - {"IgqNotScraped", "IgqBackupMissing"}
    well = {"igq_redis_up": 1, "ibmmq_qmgr_status": 2, "ibmmq_queue_attribute_max_depth": 100}
    event = 'ibmmq_queue_oldest_message_age{group="G",qmgr="A",queue="SYSTEM.ADMIN.QMGR.EVENT"}'
    unread = {"expr": "absent(ALERTS)", "eval_time": "15m", "exp_samples": [{"labels": "{}", "value": 1}]}
    figures_of_a_start = [
        {"series": event, "values": "9999x20"},
        {"series": 'igq_redis_up{group="G"}', "values": "1x20"},
    ]
    tests: list[dict[str, Any]] = [{"interval": "1m", "input_series": figures_of_a_start, "promql_expr_test": [unread]}]
    for alert, figures in wrong.items():
        for is_wrong in (True, False):
            values = {
                series: value if is_wrong else well.get(series.partition("{")[0], 0)
                for series, value in figures.items()
            }
            series = [{"series": name, "values": f"{value}x20"} for name, value in values.items()]
            query = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
            tests.append(
                {
                    "interval": "1m",
                    "input_series": series,
                    "promql_expr_test": [
                        {"expr": query, "eval_time": "15m", "exp_samples": [{"labels": "{}", "value": int(is_wrong)}]}
                    ],
                }
            )
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests}))

    done = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_tells_what_to_do_about_each_alert() -> None:
    text = PAGE.read_text("utf-8")
    assert [rule["alert"] for rule in rules() if not re.search(rf"\b{rule['alert']}\b", text)] == []
