// A message's way: each put, hop and get, from the journals. The address says what is searched: trace/msg_id/ID.

import { get } from "../api.js";
import { badge, h, replace, row, table } from "../dom.js";

export const title = "A message's way";
export const menu = "Trace";

const KINDS = { msg_id: "MsgId", correl_id: "CorrelId", group_id: "GroupId" };
const HEADINGS = ["Time", "Event", "At", "Queue", "Outcome", "Program", "Message", "MsgId"];

export function show(element, context) {
  const [asked = "msg_id", given = ""] = context.parts;
  const kind = h("select", { "aria-label": "Kind of identifier" },
    Object.entries(KINDS).map(([name, text]) => h("option", { value: name, selected: name === asked }, text)));
  const id = h("input", { type: "search", "aria-label": "Identifier", required: true, size: 52, spellcheck: "false", placeholder: "48 hexadecimal digits, or text" });
  const queue = h("input", { placeholder: "all", spellcheck: "false" });
  const from = h("input", { placeholder: "2026-01-31T12:00:00" }), to = h("input", { placeholder: "now" });
  const search = h("button", { class: "primary" }, "Search"), found = h("div", { "aria-live": "polite" });
  id.value = given;
  const form = h("form", {}, h("div", { class: "bar" }, kind, id, search),
    h("div", { class: "bar" }, h("label", {}, "Queue ", queue), h("label", {}, "From (UTC) ", from), h("label", {}, "To ", to)));
  replace(element, form, found);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (search.disabled) return;
    search.disabled = true;
    replace(found, h("p", { class: "muted" }, "The journals are read ..."));
    try {
      replace(found, way(await get("/trace", { kind: kind.value, id: id.value, queue: queue.value, from: from.value, to: to.value })));
    } catch (error) {
      replace(found);
      context.tell(error.message, true);
    } finally {
      search.disabled = false;
    }
  });
  if (given) form.requestSubmit();
  else id.focus();
}

function way({ steps, stored, entries, trimmed, away, is_cut: isCut }) {
  return [
    steps.length ? table(HEADINGS, steps.map(step), { class: "cards" }) : h("p", {}, "No such message was put, as far as the journals tell."),
    isCut && h("p", { class: "muted" }, `The first ${steps.length} steps are shown.`),
    stored.map((each) => h("p", {}, `${each.structure}/${each.message} is still there; it came to ${each.queue}.`)),
    trimmed.length > 0 && h("p", { class: "muted" }, `The journal has lost its beginning in ${trimmed.join(", ")}: something may be missing.`),
    away.length > 0 && h("p", { class: "muted" }, `Out of reach now: ${away.join(", ")}. Something may be missing.`),
    h("p", { class: "muted" }, `${entries} entries were read.`),
  ];
}

function step(each) {
  const queue = each.target_queue ? `${each.queue ?? ""} → ${each.target_queue}` : each.queue ?? "";
  const outcome = [each.outcome, each.recovered && "by a peer", each.dead_letter && "dead letter"].filter(Boolean).join(", ");
  return row(HEADINGS, [h("time", {}, each.time), badge(each.event), each.qmgr ?? "", queue, outcome, each.program ?? "",
    `${each.structure}/${each.message ?? ""}`, h("code", {}, each.msg_id ?? "")]);
}
