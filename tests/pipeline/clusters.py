"""A standalone cluster of Spark on loopback: one master and two workers, real processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType

import pyspark
import pytest

from igq.pipeline.spark.session import find_java, make_java_home

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_START_S = 300.0


def executors(workers: str) -> list[int]:
    """Process ids of the executors that run now: the workers' children."""
    found = subprocess.run(["pgrep", "-P", workers], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


class Cluster:
    """The cluster has its own processes only, which know nothing of this source tree."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self._directory = directory
        java_home = make_java_home(find_java(os.environ), directory)
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
        self._environment = kept | {
            "JAVA_HOME": str(java_home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            # A test has no manager that recovers programs with expired leases.
            "IGQ_LEASE_MS": "600000",
        }
        self._processes: list[subprocess.Popen[str]] = []
        self.url = self._start(_MASTER, [], r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            arguments = ["--cores", "1", "--memory", "1g", "--work-dir", str(directory / f"worker{number}"), self.url]
            self._start(_WORKER, arguments, r"Successfully registered with master (\S+)")

    @property
    def workers(self) -> str:
        """Process ids of the workers, separated by commas."""
        return ",".join(str(process.pid) for process in self._processes[1:])

    def _start(self, program: str, arguments: list[str], sign: str) -> str:
        """Start a process of Spark and wait until it says that it is there. Returns its line."""
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        place = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        process = subprocess.Popen(
            [str(spark_class), program, *place, *arguments],
            env=self._environment,
            cwd=self._directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._processes.append(process)
        said: Queue[str] = Queue()
        lines: list[str] = []

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if found := re.search(sign, line):
                    said.put(found[1])

        threading.Thread(target=listen, daemon=True).start()
        try:
            return said.get(timeout=_START_S)
        except Empty:
            self.close()
            pytest.fail(f"{program} did not start:\n{''.join(lines)}")

    def close(self) -> None:
        """End all of it. Executors end with their workers."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
