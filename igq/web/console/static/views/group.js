// The group: members with their agents, recoveries, and what was before.

import * as actions from "../actions.js";
import { append, badge, h, redraw, row, table } from "../dom.js";
import { graph, spanChoice } from "../graph.js";
import * as live from "../live.js";

export const title = "Group";

const MEMBERS = ["Manager", "State", "Host", { text: "Pid", number: true }, { text: "Start", number: true }, "Lease",
  "IGQ agent", { text: "Delivered", number: true }, { text: "Restarts", number: true }];

export function show(element, context) {
  const now = h("div"), past = h("div");
  append(element, [now, h("h2", {}, "Graphs"), h("div", { class: "bar" }, spanChoice(context, "/group/history", {}, drawPast)), past]);
  let status = null;
  let arrived = 0;
  const draw = () => { if (status) render(now, context, status, (performance.now() - arrived) / 1000); };
  actions.listen(element, context);
  context.whenLeft(live.on("group", (data) => { status = data; arrived = performance.now(); draw(); }));
  // Clocks count down between two events.
  const timer = setInterval(draw, 1000);
  context.whenLeft(() => clearInterval(timer));

  function drawPast({ looks, time_line: lines }) {
    const managers = [...new Set(looks.flatMap((each) => Object.keys(each.retries)))];
    redraw(past,
      looks.length > 1
        ? h("div", { class: "graphs" }, graph("Recoveries", looks.map((each) => [each.at_ms, each.recoveries])),
          managers.map((name) => graph(`Retries of the agent of ${name}`, looks.map((each) => [each.at_ms, each.retries[name] ?? 0]))))
        : h("p", { class: "muted" }, "Graphs begin when a console of a manager has looked at the group some times, a minute apart."),
      h("h2", {}, "Time line of a day"),
      lines.length ? h("ol", { class: "time-line" }, lines.map(([at, text]) => h("li", {},
        h("time", { datetime: new Date(at).toISOString(), class: "muted" }, `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`), " ", text)))
        : h("p", { class: "muted" }, "Nothing has happened."));
  }
}

function render(element, context, status, passed) {
  const isAllowed = actions.of(context, "manager").length > 0, headings = isAllowed ? [...MEMBERS, "Commands"] : MEMBERS;
  redraw(element,
    h("p", { class: "facts" }, status.redis.version, " ", h("span", { class: "muted" }, status.redis.durability)),
    status.managers.length
      ? table(headings, status.managers.map((each) => manager(context, headings, each, passed)), { class: "cards" })
      : h("p", {}, "No queue manager has joined yet."),
    troubles(status, passed),
    recoveries(status.recoveries));
}

// An agent in its state of retry tries at once when it is started.
function isWanted(each, name) {
  if (each.state !== "RUNNING") return false;
  if (name === "start-agent") return each.igq !== "ENABLED" || each.agent.state === "RETRY";
  return name !== "stop-agent" || each.igq === "ENABLED";
}

function manager(context, headings, each, passed) {
  const left = each.lease_left_s === null ? "" : `${Math.max(0, each.lease_left_s - passed).toFixed(0)} s`;
  const cells = [each.name, badge(each.state), each.host, each.pid ?? "", each.incarnation, left,
    badge(each.igq === "ENABLED" ? each.agent.state : each.igq), each.agent.delivered, each.agent.restarts];
  if (headings.length > cells.length) cells.push(actions.buttons(context, "manager", { qmgr: each.name }, each.name, (name) => isWanted(each, name)));
  return row(headings, cells);
}

function troubles(status, passed) {
  const found = [...status.troubles];
  for (const each of status.managers) {
    for (const [who, agent] of [[`Agent of ${each.name}`, each.agent],
      ...each.agent.movers.map((mover) => [`Mover of ${mover.queue} at ${each.name}`, mover])]) {
      if (agent.next_retry_s === null) {
        if (agent.last_error && !found.some((text) => text.includes?.(agent.last_error))) found.push(`${who}: ${agent.last_error}`);
        continue;
      }
      const left = Math.max(0, agent.next_retry_s - passed).toFixed(0);
      found.push(h("span", {}, `${who}: next try in `, h("time", { class: "clock" }, `${left} s`),
        `, after ${agent.short_retries} short and ${agent.long_retries} long retries. ${agent.last_error}`));
    }
  }
  return found.length > 0 && [h("h2", {}, "Troubles"), h("ul", { class: "troubles" }, found.map((each) => h("li", {}, each)))];
}

function recoveries(found) {
  if (!found.length) return null;
  const longest = Math.max(1, ...found.map((each) => each.seconds));
  return [h("h2", {}, "Recoveries"), h("ol", { class: "timeline" }, found.map((each) => h("li", {},
    h("time", { datetime: each.detected_at, class: "muted" }, `${each.detected_at.slice(0, 19).replace("T", " ")} UTC`), " ",
    h("span", { class: "what" }, each.failed, " by ", each.by), " ", badge(each.state),
    h("meter", { min: 0, max: longest, value: each.seconds, "aria-label": "seconds" }),
    h("span", { class: "muted" }, `${each.seconds.toFixed(2)} s, ${each.units_of_work} units of work, ${each.messages} messages`))))];
}
