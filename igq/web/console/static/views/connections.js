// Connections: programs at their managers, each with its handles and its unit of work.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { badge, h, redraw, replace, row, table } from "../dom.js";

export const title = "Connections";

const HEADINGS = ["Connection", "Program", { text: "Pid", number: true }, "User", "Comes by", "Unit of work", "Handles"];
const HANDLES = ["Name that it used", "Queue", "Structure", "Opened"];
const PERIOD_MS = 5000;

export async function show(element, context) {
  const isAllowed = actions.of(context, "connection").length > 0, headings = isAllowed ? [...HEADINGS, "Commands"] : HEADINGS;
  const search = h("input", { type: "search", placeholder: "Filter: part of a name, user or queue", "aria-label": "Filter" });
  const own = h("input", { type: "checkbox" }), count = h("span", { class: "muted", role: "status" });
  const list = h("div"), details = h("section", { tabindex: "-1", "aria-live": "polite" });
  let found = { connections: [], is_cut: false }, hasLeft = false;
  replace(element, h("div", { class: "bar" }, search, h("label", {}, own, " of managers and agents"), count), list, details);
  search.addEventListener("input", draw);
  own.addEventListener("change", draw);
  actions.listen(list, context, () => read().catch((error) => context.tell(error.message, true)));
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-token]");
    if (button) open(button.dataset.token);
  });

  async function read() {
    const told = await get("/connections");
    if (hasLeft) return;
    found = told;
    draw();
  }

  function draw() {
    const wanted = search.value.trim().toUpperCase();
    const rows = found.connections.filter((each) => (own.checked || !each.is_own)
      && [each.token, each.appl_name, each.user, each.channel, each.address, ...(each.unit?.queues ?? [])].some((text) => text.toUpperCase().includes(wanted)));
    redraw(count, `${rows.length} of ${found.connections.length}${found.is_cut ? " and more" : ""}`);
    redraw(list, rows.length ? table(headings, rows.map(line), { class: "cards" }) : h("p", {}, "There is no such connection."));
  }

  function line(each) {
    const unit = each.unit && [badge(each.unit.state), ` ${each.unit.messages}${each.unit.has_more ? " or more" : ""} messages on ${each.unit.queues.join(", ")}`];
    const cells = [each.token, each.appl_name, each.pid, each.user, each.channel ? `${each.channel} from ${each.address}` : "",
      unit ? h("span", {}, unit) : "", h("button", { type: "button", class: "small", "data-token": each.token, "aria-label": `Handles of ${each.token}` }, "Show")];
    if (isAllowed) cells.push(each.is_own ? "" : actions.buttons(context, "connection", { qmgr: each.qmgr, connection: each.token }, each.token));
    return row(headings, cells);
  }

  async function open(token) {
    try {
      const { handles, is_cut: isCut, away } = await get("/connections/handles", { token });
      replace(details, h("h2", {}, `Handles of ${token}`), handles.length
        ? table(HANDLES, handles.map((each) => row(HANDLES, [each.object_name, each.queue, each.structure, each.options.join(" ")])), { class: "cards" })
        : h("p", {}, "It has no queue open."),
      isCut && h("p", { class: "muted" }, "There are more."),
      away.length > 0 && h("p", { class: "muted" }, `Out of reach now: ${away.join(", ")}. Something may be missing.`));
      details.focus();
      details.scrollIntoView({ block: "nearest" });
    } catch (error) {
      context.tell(error.message, true);
    }
  }

  const timer = setInterval(() => { read().catch(() => {}); }, PERIOD_MS);
  context.whenLeft(() => { hasLeft = true; clearInterval(timer); });
  await read();
}
