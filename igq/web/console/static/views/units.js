// Units of work: in doubt, with commit and backout, and open, with their ages.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { badge, h, redraw, replace, row, table } from "../dom.js";
import { age } from "./queues.js";

export const title = "Units of work";

const IN_DOUBT = ["Unit", "Owner", "Program", { text: "Messages", number: true }, "Queues", { text: "In doubt for", number: true }, "Outcome"];
const OPEN = ["Unit", "Manager", "Program", { text: "Pid", number: true }, "State", { text: "Messages", number: true }, "Queues", { text: "Age", number: true }];
const PERIOD_MS = 5000;
// Unit -> when this page saw it first: the least age of a unit that does not say its own.
const seen = new Map();

export async function show(element, context) {
  const isAllowed = actions.of(context, "unit").length > 0, inDoubt = h("div"), open = h("div");
  replace(element,
    h("h2", {}, "In doubt"),
    isAllowed && h("p", { class: "muted" },
      "Resolve a unit only if its coordinator cannot: your decision is final, and the coordinator is not asked."),
    inDoubt, h("h2", {}, "Open"), open);
  let hasLeft = false;
  actions.listen(inDoubt, context, () => read().catch((error) => context.tell(error.message, true)));

  async function read() {
    const found = await get("/units");
    if (hasLeft) return;
    redraw(inDoubt, found.in_doubt.length
      ? table(IN_DOUBT, found.in_doubt.map(doubtful), { class: "cards" })
      : h("p", {}, "Nothing is in doubt."));
    redraw(open, found.open.length ? table(OPEN, found.open.map(opened), { class: "cards" }) : h("p", {}, "None is open."),
      found.is_cut && h("p", { class: "muted" }, "There are more."));
    const known = new Set(found.open.map((each) => each.id));
    for (const id of seen.keys()) if (!known.has(id)) seen.delete(id);
  }

  function doubtful(each) {
    return row(IN_DOUBT, [h("span", {}, each.nid, " ", h("small", { class: "muted" }, each.xid)), each.qmgr, each.appl_name,
      each.messages, each.queues.join(", "), age(each.age_s),
      each.outcome || actions.buttons(context, "unit", { nid: each.nid }, `the unit of work ${each.nid} of ${each.appl_name}`)]);
  }

  function opened(each) {
    if (!seen.has(each.id)) seen.set(each.id, performance.now());
    const shown = each.age_s === null ? `at least ${age((performance.now() - seen.get(each.id)) / 1000)}` : age(each.age_s);
    return row(OPEN, [each.id, each.qmgr, each.appl_name, each.pid, badge(each.state),
      `${each.messages}${each.has_more ? " or more" : ""}`, each.queues.join(", "), shown]);
  }

  const timer = setInterval(() => { read().catch(() => {}); }, PERIOD_MS);
  context.whenLeft(() => { hasLeft = true; clearInterval(timer); });
  await read();
}
