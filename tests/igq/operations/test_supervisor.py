"""A supervisor and the output of its managers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from igq.errors import CommandError
from igq.manager.process import QueueManager
from igq.operations.supervisor import Supervisor
from sharedq.settings.values import Settings

#: A supervisor whose manager prints more than a pipe holds, and ends.
PROGRAM = """
import subprocess, sys, threading
from sharedq.settings.values import Settings
from igq.operations.supervisor import Supervisor

supervisor = Supervisor(Settings(data_dir=sys.argv[1]), ["QM1"])
talks = [sys.executable, "-c", "for n in range(20_000): print('line', n)"]
child = supervisor._children["QM1"] = subprocess.Popen(talks, stdout=subprocess.PIPE, text=True)
threading.Thread(target=supervisor._show, args=("QM1", child), daemon=True).start()
sys.exit(supervisor._wait())
"""


def test_a_managers_output_is_drained_even_without_a_reader(tmp_path: Path) -> None:
    supervisor = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "QM1 | line 0\n"
        supervisor.stdout.close()
        assert supervisor.wait(timeout=120) == 0
        assert supervisor.stderr is not None
        assert supervisor.stderr.read() == ""
    finally:
        supervisor.kill()
        supervisor.wait()


#: A supervisor whose managers say that they are ready, with findings that are told and one that is not.
READY = """
import subprocess, sys, threading
from igq.operations.doctor import visit
from igq.operations.doctor.visit import Found
from igq.operations.doctor.seen import error, note, warning
from sharedq.settings.values import Settings
from igq.operations.supervisor import Supervisor

found = [Found("x", error(f"wrong {n}", "do it")) for n in range(2)]
found += [Found("x", warning(f"odd {n}", "do it")) for n in range(2)] + [Found("x", note("meant", "nothing"))]
visit.find = lambda settings, is_quick: found if is_quick else None

class OfTalkers(Supervisor):
    def _start(self, name):
        words = [sys.executable, "-c", "print('CSQ9022I', flush=True); print('CSQ9022I', flush=True); input()"]
        child = self._children[name] = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._show, args=(name, child), daemon=True).start()

    def _tell_findings(self):
        super()._tell_findings()
        for child in self._children.values():
            child.stdin.close()

OfTalkers(Settings(data_dir=sys.argv[1]), ["QM1", "QM2"]).run()
"""


def test_it_tells_the_three_worst_findings_once_all_are_ready(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READY, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )

    said = [line for line in done.stdout.splitlines() if "CSQ9022I" not in line and "exit status" not in line]
    assert said == [
        *("error: wrong 0; do it", "error: wrong 1; do it", "warning: odd 0; do it"),
        "igq doctor tells 1 more",
    ], done.stderr


#: A supervisor whose manager has not installed its signal handlers yet.
NOT_BEGUN = """
import subprocess, sys, threading
from sharedq.settings.values import Settings
from igq.operations.supervisor import Supervisor

class OfSleepers(Supervisor):
    def _start(self, name):
        words = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
        child = self._children[name] = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._show, args=(name, child), daemon=True).start()

sys.exit(OfSleepers(Settings(data_dir=sys.argv[1]), ["QM1"]).run())
"""


def test_a_manager_that_is_stopped_before_it_began_has_not_failed(tmp_path: Path) -> None:
    supervisor = subprocess.Popen([sys.executable, "-c", NOT_BEGUN, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "QM1 | here\n"
        supervisor.terminate()
        assert supervisor.stdout.read() == "QM1 was stopped before it began to start\n"
        assert supervisor.wait(timeout=120) == 0
    finally:
        supervisor.kill()
        supervisor.wait()


@pytest.mark.rule("igq/routes", "No manager may have the name of its group.")
def test_no_manager_has_the_name_of_its_group(tmp_path: Path) -> None:
    """With the group's name programs connect to any member, so a manager of that name could not be addressed."""
    settings = Settings(data_dir=tmp_path, group="QSG1")
    for start in (lambda: QueueManager(settings, "QSG1"), lambda: Supervisor(settings, ["QM1", "QSG1"])):
        with pytest.raises(CommandError, match="QSG1 cannot be a queue manager: the queue-sharing group has this name"):
            start()
