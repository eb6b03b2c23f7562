"""`igq demo`: sends real departures through three queue managers, kills one of them, then runs the audit.

The story is the output while it runs: sentences, and progress bars.
"""

from __future__ import annotations

import random
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from igq.errors import CommandError
from igq.rehearsal.load.audit import audit_run
from igq.rehearsal.load.processes.children import CONSUMER, PUTTER
from igq.rehearsal.load.programs.interrupts import interrupt_on_termination
from igq.rehearsal.load.records import ExpectedWriter
from igq.rehearsal.load.rows.plan import PRIVATE_QUEUE, SHARED_QUEUE
from igq.rehearsal.load.rows.sources import QMGRS, RowSource, check_installed
from igq.rehearsal.load.run_settings import settings_of_run
from igq.rehearsal.load.scene import Scene
from igq.rehearsal.load.view import working_agent
from igq.rehearsal.load.waits import wait_for_agent, wait_for_puts, wait_until_delivered, wait_until_recovered
from sharedq.display.terminal import Terminal
from sharedq.settings.values import Settings

_BARS = ("messages put", "delivered through IGQ", "delivered from the shared queue")
DEFAULT_MESSAGES = 30_000
DEFAULT_KILL = "LGA"
#: Exit status of a run that the user ended.
INTERRUPTED = 130
#: Rows of the whole table.
_ALL_ROWS = 336_776


class Story:
    """Writes sentences above the bars. Use it as a context manager."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self._progress = Progress(
            TextColumn("{task.description:<32}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            refresh_per_second=4,
        )
        self._bars: list[TaskID] = []

    def say(self, text: str, style: str = "") -> None:
        """Write a sentence."""
        self.console.print(Text(text, style=style))

    def show_bars(self, departures: int) -> None:
        """Start to show progress: each departure is put twice, and delivered once on each path."""
        totals = (2 * departures, departures, departures)
        self._bars = [self._progress.add_task(name, total=n) for name, n in zip(_BARS, totals, strict=True)]
        self._progress.start()

    def update(self, put: int, through_igq: int, shared: int) -> None:
        """Move the bars."""
        for bar, count in zip(self._bars, (put, through_igq, shared), strict=False):
            self._progress.update(bar, completed=count)

    def hide_bars(self) -> None:
        """Leave the bars as they are and continue below them."""
        self._progress.stop()
        self._bars = []

    def __enter__(self) -> Story:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Stopping bars that do not run would print an empty line.
        if self._bars:
            self.hide_bars()


def demo(
    messages: int | None = DEFAULT_MESSAGES,
    kill: str = DEFAULT_KILL,
    data_dir: Path | None = None,
    seed: int = 2013,
) -> int:
    """Run the demo. Returns the audit's exit status, or 130 after Ctrl-C.

    Args:
        messages: number of departures to send, None for all. Each is sent twice.
        kill: the manager to kill.
        data_dir: directory of the run; default: ``demo-TIME`` in the data directory of the settings.
        seed: decides the moment at which the manager is killed.

    Raises:
        CommandError: the arguments are wrong, the input is missing, or a step failed.
        ConfigError, DeploymentError, MQIError: Redis or the settings cannot be used.
    """
    if kill not in QMGRS:
        raise CommandError(f"--kill {kill}: give one of {', '.join(QMGRS)}", 2)
    check_installed()
    if find_spec("pyspark") is None:
        raise CommandError("the demo's audit needs Spark: pip install 'igq[demo]'", 2)
    settings = settings_of_run("demo", data_dir)
    directory = settings.data_dir
    console = Terminal(highlight=False, soft_wrap=True)
    try:
        with interrupt_on_termination(), Story(console) as story:
            return _Demo(settings, directory, RowSource("flights", messages), kill, seed, story).run()
    except KeyboardInterrupt:
        console.print("Ended by the user; all processes of the demo are stopped.")
        return INTERRUPTED


class _Demo:
    """One run of the demo."""

    def __init__(
        self, settings: Settings, directory: Path, source: RowSource, victim: str, seed: int, story: Story
    ) -> None:
        self._victim, self._story, self._source = victim, story, source
        self._settings, self._directory = settings, directory
        self._departures = min(source.count or _ALL_ROWS, _ALL_ROWS)
        # The rest takes longer than the lease of the killed manager, so its peers recover it while they work.
        self._kill_at = random.Random(seed).uniform(0.2, 0.3)
        self._scene = Scene(settings, source, look=self._show_progress)

    def run(self) -> int:
        with self._scene as scene:
            scene.open()
            self._start()
            self._story.show_bars(self._departures)
            scene.start_load()
            with ExpectedWriter(self._source, self._directory) as expected:
                self._kill_in_the_middle()
                wait_until_delivered(scene)
                scene.finish_load()
                expected.count()
            # Everything was put and every queue is empty. The programs' counts cannot show that (see below).
            self._story.update(2 * self._departures, self._departures, self._departures)
            self._story.hide_bars()
            self._stop()
            return self._audit()

    def _start(self) -> None:
        say, scene = self._story.say, self._scene
        say(f"Run directory: {self._directory}")
        say(f"Starting the queue managers {', '.join(QMGRS)} of group {self._settings.group}.", "bold")
        scene.start_managers()
        for name in QMGRS:
            scene.timeline.add("started", name, detail="ready")
        scene.define_queues()
        say(
            f"Each departure is put by the manager of its origin airport twice: through intra-group queuing to "
            f"{PRIVATE_QUEUE} at the next manager, and on the shared queue {SHARED_QUEUE}, which consumers on all "
            f"three drain."
        )

    def _kill_in_the_middle(self) -> None:
        scene, victim, say = self._scene, self._victim, self._story.say
        wait_for_puts(scene, int(2 * self._departures * self._kill_at))
        incarnation, agent_pid = scene.incarnation(victim), working_agent(scene.group, victim)
        programs = scene.programs_of(victim)
        puts, gets = scene.hold(programs)
        killed_s = time.monotonic()
        scene.timeline.add("killed", victim, by="demo", detail=f"{puts} uncommitted puts, {gets} uncommitted gets")
        # The kernel ends the agent when its manager ends.
        scene.kill([scene.managers[victim], *programs])
        say(
            f"{victim} was killed with SIGKILL, and its agent, its putter and its consumers with it, while they held "
            f"{puts} uncommitted puts and {gets} uncommitted gets. One put and one get belong to the putter's status "
            f"message, which the audit does not count.",
            "bold red",
        )
        self._recover(incarnation, killed_s)
        self._restart(agent_pid)

    def _recover(self, incarnation: str, killed_s: float) -> None:
        scene, victim = self._scene, self._victim
        killed_ms = time.time() * 1000 - (time.monotonic() - killed_s) * 1000
        recovery = wait_until_recovered(scene, incarnation)
        moments = dict(recovery.moments)
        detected_s = (moments["detected"] - killed_ms) / 1000
        took_ms = moments["resolved"] - moments["detected"]
        self._story.say(
            f"{recovery.by} noticed after {detected_s:.2f} s that {victim} had ended (without a peer on its machine it "
            f"takes a lease, {self._settings.lease_ms / 1000:g} s), claimed its recovery, fenced it, and resolved "
            f"{recovery.units_of_work} units of work with {recovery.messages} messages within {took_ms} ms.",
            "yellow",
        )

    def _restart(self, old_agent_pid: int) -> None:
        scene, victim = self._scene, self._victim
        waiting = scene.backlog().transmit
        scene.start_managers([victim])
        scene.timeline.add("restarted", victim, by="demo")
        scene.start_programs(victim)
        pid = wait_for_agent(scene, victim, old_agent_pid)
        scene.timeline.add("serialized", victim, detail=f"IGQ agent, pid {pid}")
        self._story.say(
            f"{victim} was started again. Its new agent has its connection tag again (serialized) and delivers the "
            f"{waiting} messages that waited on the transmit queue. Its putter continues after the last committed unit "
            f"of work.",
            "green",
        )

    def _stop(self) -> None:
        scene = self._scene
        scene.timeline.add("drained", "", detail="every queue is empty")
        self._story.say("Everything is delivered and every queue is empty; stopping the managers in good order.")
        scene.stop_managers()

    def _audit(self) -> int:
        self._story.say(
            "The Spark audit now recomputes from the input rows and the journal whether anything was lost, duplicated "
            "or reordered.",
            "bold",
        )
        status = audit_run(self._directory, self._scene.environment)
        if status == 0:
            text = f"Nothing was lost, duplicated or reordered. Report and records: {self._directory}"
            self._story.say(text, "green")
        else:
            self._story.say(f"The audit failed with status {status}. Records: {self._directory}", "bold red")
        return status

    def _put(self) -> int:
        return self._scene.count(PUTTER, "put")

    def _show_progress(self) -> None:
        private, shared = (self._scene.count(CONSUMER, "got", queue) for queue in (PRIVATE_QUEUE, SHARED_QUEUE))
        # A consumer cannot know the outcome of a commit that broke, so it may count a message that comes again.
        self._story.update(self._put(), min(private, self._departures), min(shared, self._departures))
