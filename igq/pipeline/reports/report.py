"""The report for people: one HTML file with its pictures inside, and a short table on the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from pathlib import Path

from rich.table import Table

from igq.pipeline.audit.series import Series
from igq.pipeline.audit.verdict import FAULTS, MEANINGS, Finding, PeerWork, Verdict
from igq.pipeline.reports import plots
from igq.pipeline.reports.page import picture, table, write_page
from sharedq.display.terminal import Terminal

_SPEED_HEADS = ("way", "messages", "a second", "half within", "90 % within", "99 % within", "slowest")


def write_report(verdict: Verdict, series: Series, path: Path) -> None:
    """Write the HTML report. It refers to nothing outside itself."""
    write_page(
        "report.html",
        path,
        css_class="passed" if verdict.is_passed else "failed",
        title=escape(headline(verdict)),
        group=escape(verdict.journal.group),
        what=escape(_what_was_read(verdict)),
        counts=_counts_table(verdict),
        findings=_findings(verdict),
        speed=_speed_section(verdict, series),
        recovery=_recovery_section(verdict),
        throughput=picture(plots.throughput(series, verdict.recoveries), "messages a second over time")
        if series.messages
        else "<p>No message was committed in this time.</p>",
    )


def headline(verdict: Verdict) -> str:
    """The result in one sentence."""
    counts = verdict.counts
    total = counts["expected"] if verdict.has_run else counts["sent"]
    if verdict.is_passed and counts["delivered"] == total:
        return f"Passed: all {total:,} message copies arrived once and in order."
    if verdict.is_passed:
        rest = {
            "on_queue": "wait on a queue",
            "dead_lettered": "are dead letters",
            "expired": "expired",
            "cleared": "were cleared",
            "in_doubt": "are in doubt",
            "uncommitted": "are uncommitted",
            "promised_gone": "were lost with a structure, as its backup promises",
        }
        waiting = ", ".join(f"{counts[name]:,} {what}" for name, what in rest.items() if counts[name])
        waiting = waiting or "the rest is accounted for"
        return f"Passed: {counts['delivered']:,} of {total:,} messages arrived once and in order; {waiting}."
    faults = [f"{counts[name]:,} {name.replace('_', ' ')}" for name in FAULTS if counts[name]]
    return f"Failed: of {total:,} message copies, {', '.join(faults)}."


def print_summary(verdict: Verdict, console: Terminal, *, rows: int = 3) -> None:
    """The short table for a terminal, with the first *rows* findings of each kind."""
    table = Table(title=None, box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    paths = sorted(verdict.counts_by_path)
    for path in paths:
        table.add_column(path, justify="right")
    table.add_column("all", justify="right")
    for name in _shown_counts(verdict):
        count = verdict.counts[name]
        style = ("bold red" if count else "green") if name in FAULTS else ""
        cells = [f"{verdict.counts_by_path[path][name]:,}" for path in paths]
        table.add_row(name.replace("_", " "), *cells, f"{count:,}", style=style)
    for label, figure in (("messages/s", "messages_per_s"), ("p50 ms", "p50_ms"), ("p99 ms", "p99_ms")):
        values = [getattr(verdict.figures.get(path), figure, None) for path in paths]
        table.add_row(label, *("" if value is None else f"{value:,.0f}" for value in values), "", style="dim")
    console.print(table)
    for recovery in verdict.recoveries:
        steps = " -> ".join(f"{phase.event} {phase.since_failure_ms / 1000:.1f} s" for phase in recovery.phases)
        console.print(f"recovery of {recovery.qmgr}: {steps}", highlight=False, soft_wrap=True)
    for name in FAULTS:
        for finding in verdict.findings.get(name, [])[:rows]:
            line = f"{name.replace('_', ' ')}: {finding.copy}: {finding.why}{_msg_id(finding)}"
            console.print(line, style="red", highlight=False, soft_wrap=True)
    style = "bold green" if verdict.is_passed else "bold red"
    console.print(headline(verdict), style=style, highlight=False, soft_wrap=True)


def _shown_counts(verdict: Verdict) -> list[str]:
    """The rows of counts. Faults are shown also if they are zero, which is the result; rare findings only if any."""
    always = {"sent", "delivered", *FAULTS, "recovered", "unknown"} | ({"expected"} if verdict.has_run else set())
    return [name for name in MEANINGS if name in always or verdict.counts[name]]


def _what_was_read(verdict: Verdict) -> str:
    facts = verdict.journal
    times = [f"{datetime.fromtimestamp(ms / 1000, UTC):%H:%M:%S}" for ms in (facts.first_ms, facts.last_ms) if ms]
    when = f" from {times[0]} to {times[1]} UTC" if len(times) == 2 else ""
    text = (
        f"The journal of the group gave {facts.events:,} events{when}, from {', '.join(facts.structures) or 'nowhere'}."
    )
    if verdict.has_run:
        text += " They were compared with what the input rows demand, and with what the programs on both sides saw."
    else:
        text += " No records of a run were given, so each message was followed through the journal alone."
    if facts.trimmed_structures:
        names = ", ".join(facts.trimmed_structures)
        text += f" The oldest events of {names} are no longer kept; messages put before them cannot be judged."
    return text


def _counts_table(verdict: Verdict) -> str:
    paths = sorted(verdict.counts_by_path)
    heads = ["", *(plots.PATH_NAMES.get(path, path) for path in paths), "all", "what it means"]
    rows = []
    for name in _shown_counts(verdict):
        css = ("bad" if verdict.counts[name] else "good") if name in FAULTS else ""
        cells = [f"{verdict.counts_by_path[path][name]:,}" for path in paths]
        rows.append((css, [name.replace("_", " "), *cells, f"{verdict.counts[name]:,}", MEANINGS[name]]))
    return table(heads, rows)


def _findings(verdict: Verdict) -> str:
    parts = []
    for name, found in verdict.findings.items():
        items = "".join(
            f"<li><code>{escape(each.copy)}</code> {escape(each.why + _msg_id(each))}</li>" for each in found
        )
        total = verdict.counts[name]
        which = f"the first {len(found)} of {total:,}" if total > len(found) else f"{total:,}"
        is_open = " open" if name in FAULTS else ""
        parts.append(
            f"<details{is_open}><summary>{name.replace('_', ' ')}: {which}</summary><ul>{items}</ul></details>"
        )
    for title, tally in (("Lost, by cause", verdict.lost_because), ("Unknown, as settled", verdict.unknown_settled)):
        if tally:
            parts.append(
                f"<h3>{title}</h3>" + table(["", "messages"], [("", [why, f"{n:,}"]) for why, n in tally.items()])
            )
    return "\n".join(parts)


def _msg_id(finding: Finding) -> str:
    """The MsgId, by which ``igq pipeline trace --msg-id`` finds the message."""
    return f" (MsgId {finding.msg_id})" if finding.msg_id else ""


def _speed_section(verdict: Verdict, series: Series) -> str:
    if not verdict.figures:
        return "<p>No message was delivered, so there is nothing to measure.</p>"
    rows = []
    for path, of in verdict.figures.items():
        times = [plots.spell_ms(value) for value in (of.p50_ms, of.p90_ms, of.p99_ms, of.max_ms)]
        rows.append(("", [plots.PATH_NAMES.get(path, path), f"{of.messages:,}", f"{of.messages_per_s:,.0f}", *times]))
    return (
        table(_SPEED_HEADS, rows)
        + _waits_for_recovery(verdict)
        + picture(plots.latency(series, verdict.figures), "how long messages took")
    )


def _waits_for_recovery(verdict: Verdict) -> str:
    waits = [f"{escape(each.qmgr)} {plots.spell_ms(each.total_ms)}" for each in verdict.recoveries if each.total_ms]
    if not waits:
        return ""
    return f"<p>Messages for a manager that had failed waited until it was at work again: {', '.join(waits)}.</p>"


def _recovery_section(verdict: Verdict) -> str:
    parts = []
    measured = [recovery for recovery in verdict.recoveries if len(recovery.phases) > 1]
    if measured:
        parts.append(picture(plots.recovery_chart(measured), "phases of the recovery"))
    for recovery in verdict.recoveries:
        rows = [
            (
                "",
                [
                    phase.event,
                    f"{phase.since_failure_ms / 1000:.2f} s",
                    plots.spell_ms(phase.duration_ms) if position else "",
                    phase.by,
                    phase.detail,
                ],
            )
            for position, phase in enumerate(recovery.phases)
        ]
        parts.append(f"<h3>{escape(recovery.qmgr)}</h3>")
        parts.append(table(["phase", "since the failure", "took", "by", ""], rows))
    parts.extend(_peer_work(work) for work in verdict.peer_work)
    return "\n".join(parts) or "<p>No manager failed in this time.</p>"


def _peer_work(work: PeerWork) -> str:
    units = work.committed_units + work.backed_out_units
    told = "1 unit" if units == 1 else f"{units:,} units"
    return (
        f"<p>By the journal, <b>{escape(work.by)}</b> ended {told} of work of programs of"
        f" <b>{escape(work.failed)}</b>: {work.committed_units:,} committed, {work.backed_out_units:,} backed out,"
        f" {work.messages:,} messages (those of the programs' own status queues, too),"
        f" within {plots.spell_ms(work.last_ms - work.first_ms)}.</p>"
    )
