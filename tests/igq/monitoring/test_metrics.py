"""The metrics of a group, as Prometheus reads them."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from igq.agent.progress.report import AgentState, MoverState
from igq.errors import CommandError
from igq.monitoring import bounded_server
from igq.monitoring.collector import GroupCollector, profiles_in
from igq.monitoring.endpoint import MetricsEndpoint, parse_address
from igq.monitoring.metrics import METRICS
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.managers import CFStruct
from tests.support.agents import AgentOfQM2, show_agent
from tests.support.certificates import new_certificate
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = pytest.mark.share


class Scraped:
    """The samples of a scrape."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    def value(self, name: str, **labels: str) -> float | None:
        """The one sample with these labels; None if there is none."""
        found = [each for each in self._samples if each.name == name and labels.items() <= each.labels.items()]
        assert len(found) <= 1, found
        return float(found[0].value) if found else None

    def names(self) -> set[str]:
        """The names of the samples."""
        return {each.name for each in self._samples}


def scrape(group: TestGroup, collector: GroupCollector | None = None) -> Scraped:
    collector = collector or GroupCollector(group.group, clock=lambda: 1_000.0)
    return Scraped(collector.text().decode())


def test_depth_room_and_handles_of_a_queue(group: TestGroup) -> None:
    group.define_shared("Q", max_depth=10)
    connection = group.connect()
    connection.put1("Q", b"x")
    with connection.open("Q", OpenOption.INPUT_SHARED):
        found = scrape(group)
    shared = {"queue": "Q", "qmgr": group.settings.group, "structure": "APPL1"}
    assert found.value("ibmmq_queue_depth", **shared) == 1
    assert found.value("ibmmq_queue_attribute_max_depth", **shared) == 10
    assert found.value("ibmmq_queue_input_handles", **shared) == 1
    assert found.value("ibmmq_queue_oldest_message_age", **shared) is not None
    assert found.value("ibmmq_queue_depth", queue="SYSTEM.DEAD.LETTER.QUEUE", qmgr="QM1") == 0


def test_dead_letters_are_counted_on_a_queue_of_any_name(group: TestGroup) -> None:
    group.define_shared("SHARED.DLQ")
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "SHARED.DLQ"})
    group.connect().put1("SHARED.DLQ", b"x")

    found = scrape(group)

    assert found.value("igq_queue_dead_letters", queue="SHARED.DLQ", qmgr=group.settings.group) == 1
    assert found.value("igq_queue_dead_letters", queue="SYSTEM.DEAD.LETTER.QUEUE") is None


def test_the_dead_letter_queue_of_each_manager_is_named(group: TestGroup) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "SHARED.DLQ"})
    group.repository("QM1").alter_qmgr("QM2", {"dead_letter_queue": ""})

    found = scrape(group)

    assert found.value("igq_qmgr_dead_letter_queue", qmgr="QM1", queue="SHARED.DLQ") == 1
    assert found.value("igq_qmgr_dead_letter_queue", qmgr="QM2") is None


def test_backups_of_recoverable_structures_are_told(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group.repository("QM1").define_structure(CFStruct(name="KEPT", cf_level=5, recover="YES"), replace=True)
    group.repository("QM1").define_structure(CFStruct(name="PLAIN"), replace=True)
    collector = GroupCollector(group.group)
    before = scrape(group, collector)
    assert before.value("igq_structure_backup_failed", structure="KEPT") == 0
    assert before.value("igq_structure_backup_age_seconds", structure="KEPT") is None
    assert before.value("igq_structure_backup_failed", structure="PLAIN") is None

    taken = backup(group.group, "KEPT")

    made = scrape(group, collector)
    assert made.value("igq_structure_backup_bytes", structure="KEPT") == taken.path.stat().st_size
    assert 0 <= (made.value("igq_structure_backup_age_seconds", structure="KEPT") or 0) < 600

    def refuses(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("sharedq.admin.backup.capture.BackupWriter", refuses)
        with pytest.raises(BackupError, match="No space left"):
            backup(group.group, "KEPT")
    failed = scrape(group, collector)
    assert failed.value("igq_structure_backup_failed", structure="KEPT") == 1
    assert failed.value("igq_structure_backup_bytes", structure="KEPT") == taken.path.stat().st_size

    backup(group.group, "KEPT")
    assert scrape(group, collector).value("igq_structure_backup_failed", structure="KEPT") == 0


def test_only_queues_of_the_setting_have_metrics(group: TestGroup) -> None:
    for name in ("ORDERS.EU.IN", "ORDERS", "BILLS"):
        group.define_shared(name)
    group.group.settings = group.settings.model_copy(update={"metrics_queues": "ORDERS.*, BILLS"})

    names = {each.labels["queue"] for each in scrape(group).families["ibmmq_queue_depth"].samples}

    assert names == {"ORDERS.EU.IN", "BILLS"}
    with pytest.raises(CommandError, match=r"metrics_queues=A\.\*\*\.\*\*: allowed: "):
        profiles_in("A.**.**")


def test_an_agent_in_retry_and_its_mover(group: TestGroup) -> None:
    mover = MoverState("XMIT", "RETRY", next_retry_ms=1_003_000, delivered=2)
    state = AgentState("RETRY", 1, 3, 4, 5, next_retry_ms=1_060_000, delivered=9, movers=(mover,), batches=6)
    show_agent(group, "QM1", state)

    found = scrape(group)

    assert [found.value("igq_agent_state", state=each) for each in ("RUNNING", "RETRY", "STOPPED")] == [0, 1, 0]
    assert (found.value("igq_agent_short_retries"), found.value("igq_agent_long_retries")) == (4, 5)
    assert (found.value("igq_agent_next_retry_seconds"), found.value("igq_mover_next_retry_seconds")) == (60, 3)
    assert found.value("igq_agent_delivered_total", qmgr="QM1") == 9
    assert found.value("igq_agent_batches_total", qmgr="QM1") == 6
    assert found.value("igq_mover_delivered_total", queue="XMIT") == 2
    assert found.value("igq_mover_state", queue="XMIT", state="RETRY") == 1


def test_a_manager_that_failed_is_told_by_the_others(group: TestGroup) -> None:
    group.group.client().zrem(group.group.keys.leases, "QM1.1")

    found = scrape(group)

    assert (found.value("igq_qmgr_failed"), found.value("ibmmq_qmgr_status")) == (1, 0)


def test_work_in_doubt_and_its_age(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    connection.put1("Q", b"x", options=PutOption.SYNCPOINT)
    assert scrape(group).value("igq_units_of_work", qmgr="QM1") == 1
    connection.prepare(b"xid")

    found = scrape(group)

    assert found.value("igq_units_of_work_in_doubt", qmgr="QM1") == 1
    assert found.value("igq_units_of_work_in_doubt_oldest_seconds", qmgr="QM1") is not None


def test_the_age_of_a_unit_of_work_counts_from_the_first_scrape(group: TestGroup) -> None:
    group.define_shared("Q")
    group.connect().put1("Q", b"x", options=PutOption.SYNCPOINT)
    collector = GroupCollector(group.group)
    assert scrape(group, collector).value("igq_units_of_work_oldest_seconds", qmgr="QM1") == 0
    group.wait_redis_ms(20)

    assert (scrape(group, collector).value("igq_units_of_work_oldest_seconds", qmgr="QM1") or 0) >= 0.02


def test_a_monitored_queue_tells_its_latest_put_and_get(group: TestGroup) -> None:
    group.define_shared("LOUD", monitoring="LOW")
    group.define_shared("QUIET")
    for name in ("LOUD", "QUIET"):
        with group.connect().open(name, OpenOption.INPUT_SHARED | OpenOption.OUTPUT) as queue:
            queue.put(b"x")
            queue.get()

    found = scrape(group)

    for name in ("time_since_put", "time_since_get", "qtime_short", "qtime_long"):
        assert found.value(f"ibmmq_queue_{name}", queue="LOUD") is not None
        assert found.value(f"ibmmq_queue_{name}", queue="QUIET") is None


def test_the_time_of_a_hop_is_read_from_the_journal(group: TestGroup) -> None:
    keys = group.group.structure("APPL1")
    client = group.group.client()
    for number, (event, ids) in enumerate([("put", "1.1 2.1"), ("transfer", "1.1"), ("transfer", "2.1")]):
        fields: dict[Any, Any] = {"e": event, "o": "QM1.1.1.1", "q": "X", "i": ids}
        client.xadd(keys.journal, fields | ({"t": "Q"} if event == "transfer" else {}), id=f"{1000 + 500 * number}-0")

    found = scrape(group)

    assert found.value("igq_hop_latency_seconds") == pytest.approx(0.75)
    assert found.value("igq_hop_latency_max_seconds") == 1


def test_a_hop_of_an_agent_is_in_the_journal(group: TestGroup) -> None:
    """The format that the test above writes by hand is that of the scripts."""
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    agent = AgentOfQM2(group)
    group.define_private("QM2", "THERE")
    group.connect().put1("THERE", b"x", MQMD(persistence=1), qmgr_name="QM2")
    agent.deliver()

    assert scrape(group).value("igq_hop_latency_seconds") is not None


def test_redis_that_is_away_is_told_as_that(group: TestGroup) -> None:
    away = TestGroup("redis://127.0.0.1:1", group.settings.data_dir)

    found = scrape(away)

    assert found.value("igq_redis_up") == 0
    assert found.names() == {"igq_redis_up", "igq_exporter_collection_seconds"}


def test_a_later_scrape_says_the_same_as_a_first_one(group: TestGroup) -> None:
    """Lines of queues that have not changed are kept from scrape to scrape."""
    repository, connection, kept = group.repository("QM1"), group.connect(), GroupCollector(group.group)
    for name in ("A", "B", "C"):
        group.define_shared(name)
    with connection.open("B", OpenOption.INPUT_SHARED) as b:
        connection.put1("B", b"x")
        changes: list[Callable[[], object]] = [
            lambda: None,
            lambda: connection.put1("A", b"x"),
            b.get,
            lambda: repository.alter("QLOCAL", "A", {"max_depth": 7}, "SHARED"),
            lambda: repository.alter_qmgr("QM1", {"dead_letter_queue": "A"}),
            lambda: repository.alter_qmgr("QM1", {"dead_letter_queue": "B"}),
            lambda: repository.alter_qmgr("QM1", {"performance_event": "ENABLED"}),
            lambda: connection.put1("C", b"x"),
            lambda: repository.alter_qmgr("QM1", {"performance_event": "DISABLED"}),
            lambda: repository.delete("QLOCAL", "C", disposition="SHARED", purge=True),
            lambda: group.define_shared("C", max_depth=3),
        ]
        for change in changes:
            change()
            assert of_queues(kept) == of_queues(GroupCollector(group.group))


def of_queues(collector: GroupCollector) -> set[str]:
    """The lines of queues, but for ages."""
    lines = collector.text().decode().splitlines()
    return {each for each in lines if 'queue="' in each and "_age" not in each and "time_since" not in each}


def test_every_sample_is_of_a_metric_that_is_documented(group: TestGroup) -> None:
    group.define_shared("Q")
    show_agent(group, "QM1", AgentState("RUNNING", 1, 0))
    assert scrape(group).names() <= METRICS.keys()


def test_foreign_text_in_a_label_forges_no_sample(group: TestGroup) -> None:
    keys = group.group.keys
    changes = json.dumps({"version": '1"} 1\nigq_redis_up{group="X"} 0\n'})
    group.group.call("admin/member_state", [keys.members, keys.fence], ["QM1", 1, changes])

    assert scrape(group).value("igq_redis_up") == 1


@pytest.fixture
def endpoint(group: TestGroup) -> Iterator[MetricsEndpoint]:
    endpoint = MetricsEndpoint(group.settings, "127.0.0.1", 0)
    yield endpoint
    endpoint.close()


def test_an_endpoint_serves_the_metrics(endpoint: MetricsEndpoint) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=60) as answer:
        assert Scraped(answer.read().decode()).value("igq_redis_up") == 1


def test_a_token_is_asked_for_if_the_settings_name_one(group: TestGroup, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("short\n", encoding="ascii")
    settings = group.settings.model_copy(update={"metrics_token_file": file})
    with pytest.raises(CommandError, match="a token has 16 characters"):
        MetricsEndpoint(settings, "127.0.0.1", 0)
    file.write_text("a token of our own".replace(" ", "-") + "\n", encoding="ascii")
    endpoint = MetricsEndpoint(settings, "127.0.0.1", 0)

    def status(shown: str) -> int:
        asked = urllib.request.Request(f"http://127.0.0.1:{endpoint.port}/metrics", headers={"Authorization": shown})
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code

    try:
        assert status("Bearer a-token-of-our-own") == 200
        for shown in ("", "Bearer", "Bearer a-token-of-our-ow", "Basic a-token-of-our-own", "Bearer \xe9"):
            assert status(shown) == 401
        # A new token counts from the next request on; without one nobody gets in.
        file.write_text("another-token-of-ours", encoding="ascii")
        assert (status("Bearer a-token-of-our-own"), status("Bearer another-token-of-ours")) == (401, 200)
        file.unlink()
        assert status("Bearer another-token-of-ours") == 401
    finally:
        endpoint.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A certificate for 127.0.0.1 with its key, as the settings name them."""
    made = new_certificate(tmp_path_factory.mktemp("tls"))
    return {"metrics_certificate": made[0], "metrics_key": made[1]}


@pytest.fixture
def by_tls(group: TestGroup, certificate: dict[str, Path]) -> Iterator[MetricsEndpoint]:
    endpoint = MetricsEndpoint(group.settings.model_copy(update=certificate), "127.0.0.1", 0)
    yield endpoint
    endpoint.close()


def read_by_tls(endpoint: MetricsEndpoint, certificate: dict[str, Path]) -> str:
    context = ssl.create_default_context(cafile=str(certificate["metrics_certificate"]))
    url = endpoint.url_at("127.0.0.1")
    assert url.startswith("https://")
    with urllib.request.urlopen(url, timeout=60, context=context) as answer:
        return str(answer.read().decode())


def test_with_a_certificate_the_metrics_are_served_by_tls(
    by_tls: MetricsEndpoint, certificate: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert Scraped(read_by_tls(by_tls, certificate)).value("igq_redis_up") == 1
    stranger = ssl.create_default_context()
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(by_tls.url_at("127.0.0.1"), timeout=60, context=stranger)
    with socket.create_connection(("127.0.0.1", by_tls.port), timeout=60) as plain:
        plain.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b"igq_" not in plain.recv(1 << 16)
    assert Scraped(read_by_tls(by_tls, certificate)).value("igq_redis_up") == 1
    assert "Traceback" not in capfd.readouterr().err


def test_clients_that_never_begin_tls_shut_out_nobody(by_tls: MetricsEndpoint, certificate: dict[str, Path]) -> None:
    with ExitStack() as held:
        for _ in range(5 * bounded_server.IN_ALL):
            held.enter_context(socket.create_connection(("127.0.0.1", by_tls.port), timeout=60))
        until(lambda: open_connections() <= bounded_server.PER_ADDRESS, "the oldest connections end", 60)
        read_by_tls(by_tls, certificate)


def test_an_answer_by_tls_has_its_end(by_tls: MetricsEndpoint, certificate: dict[str, Path]) -> None:
    context = ssl.create_default_context(cafile=str(certificate["metrics_certificate"]))
    with (
        socket.create_connection(("127.0.0.1", by_tls.port), timeout=60) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1", suppress_ragged_eofs=False) as client,
    ):
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        while client.recv(1 << 16):
            pass


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"metrics_key": Path("/nowhere/k")}, "metrics_key=/nowhere/k needs metrics_certificate"),
        ({"metrics_certificate": Path("/nowhere/c")}, "the metrics cannot use certificate /nowhere/c"),
        ({"metrics_certificate": Path("/etc/passwd")}, "the metrics cannot use certificate /etc/passwd"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_one_line(group: TestGroup, settings: dict[str, Path], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        MetricsEndpoint(group.settings.model_copy(update=settings), "127.0.0.1", 0)


def test_idle_connections_take_few_files_and_shut_out_nobody(endpoint: MetricsEndpoint) -> None:
    with ExitStack() as held:
        for _ in range(5 * bounded_server.IN_ALL):
            held.enter_context(socket.create_connection(("127.0.0.1", endpoint.port), timeout=60))

        until(lambda: open_connections() <= bounded_server.PER_ADDRESS, "the oldest connections end", 60)
        test_an_endpoint_serves_the_metrics(endpoint)


def open_connections() -> int:
    """The threads that answer connections of the endpoint."""
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("limit", ["SILENT_S", "LONGEST_S"])
def test_a_client_that_is_slow_is_sent_away(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], limit: str
) -> None:
    monkeypatch.setattr(bounded_server, "LONGEST_S", 0.1 if limit == "LONGEST_S" else 60.0)
    monkeypatch.setattr(bounded_server.SilentHandler, "timeout", 0.1 if limit == "SILENT_S" else 60.0)
    endpoint = MetricsEndpoint(group.settings, "127.0.0.1", 0)
    try:
        with socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) as slow:
            slow.sendall(b"GET /metrics HT")
            assert slow.recv(1) == b""
    finally:
        endpoint.close()
    assert "Traceback" not in capfd.readouterr().err


def test_a_port_that_is_taken_is_one_line(group: TestGroup, endpoint: MetricsEndpoint) -> None:
    with pytest.raises(CommandError, match="the metrics cannot listen on 127"):
        MetricsEndpoint(group.settings, "127.0.0.1", endpoint.port)


@pytest.mark.parametrize(
    ("address", "parsed"),
    [
        ("9157", ("127.0.0.1", 9157)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        ("[::1]:9157", ("::1", 9157)),
        ("mq1:0", ("mq1", 0)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, parsed: tuple[str, int]) -> None:
    assert parse_address(address) == parsed


@pytest.mark.parametrize("address", ["", "mq1", "mq1:", ":9157", "mq1:65536", "mq1:-1", "mq1:x", "mq1:\u0661"])
def test_a_bad_address_is_one_line(address: str) -> None:
    with pytest.raises(CommandError, match="HOST:PORT expected"):
        parse_address(address)
