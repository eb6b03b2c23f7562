// Dead letters: a list with reasons, and what becomes of those that are chosen.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { h, replace, row, table } from "../dom.js";
import { messageOf } from "./queue.js";

export const title = "Dead letters";

const HEADINGS = ["Dead since", "On", "Reason", "Destination", "Made by", "Put by", "Format", { text: "Length", number: true }];

export async function show(element, context) {
  const chosen = new Set(), isAllowed = actions.of(context, "letters").length > 0;
  const headings = isAllowed ? ["Chosen", ...HEADINGS] : HEADINGS;
  let letters = [], latest = 0;
  const places = await get("/dead-letters/queues");
  if (!places.length) {
    replace(element, h("p", {}, "No manager has a dead-letter queue: ALTER QMGR DEADQ names one."));
    return;
  }
  const place = h("select", { onchange: load }, 
    [{ queue: "All", depth: places.reduce((sum, each) => sum + (each.depth ?? 0), 0) }, ...places].map((each, at) =>
      h("option", { value: at }, `${each.queue}${each.qmgr ? ` at ${each.qmgr}` : ""} (${each.depth ?? "unknown"})`)));
  const reason = h("input", { type: "search", placeholder: "2053 or Q_FULL" });
  const destination = h("input", { type: "search", placeholder: "ORDERS*" });
  const form = h("form", { class: "bar" }, h("label", {}, "Queue ", place), h("label", {}, "Reason ", reason),
    h("label", {}, "Destination ", destination), h("button", {}, "Read"));
  const bar = h("div", { class: "bar" }), list = h("div");
  const details = h("section", { class: "message", tabindex: "-1", "aria-live": "polite" });
  replace(element, form, bar, list, details);
  form.addEventListener("submit", (event) => { event.preventDefault(); load(); });

  // The first one stands for all.
  function chosenPlace() {
    const { qmgr = "", queue = "" } = places[place.value - 1] ?? {};
    return { qmgr, queue };
  }

  async function load() {
    const number = latest += 1;
    replace(details);
    list.setAttribute("aria-busy", "true");
    try {
      const { letters: found, is_cut: isCut } = await get("/dead-letters",
        { ...chosenPlace(), reason: reason.value, destination: destination.value });
      // An answer that a later one has overtaken is not shown.
      if (number !== latest) return;
      letters = found;
      for (const token of chosen) if (!letters.some((each) => each.token === token)) chosen.delete(token);
      replace(list, letters.length
        ? table(headings, letters.map(line), { class: "cards", caption: isCut && `The first ${letters.length} are shown.` })
        : h("p", {}, "There is no such dead letter."));
      drawActions();
    } catch (error) {
      context.tell(error.message, true);
    }
    if (number === latest) list.setAttribute("aria-busy", "false");
  }

  function drawActions() {
    if (!isAllowed) return;
    replace(bar,
      h("button", { disabled: !letters.length, onclick: chooseAll }, chosen.size === letters.length && chosen.size ? "Choose none" : "Choose all"),
      actions.of(context, "letters").map((each) => h("button", { class: each.is_dangerous && "danger", disabled: !chosen.size,
        onclick: () => actions.open(context, each.name, { places: chosenPlaces() }, `${chosen.size} dead letters`, load) }, `${each.text} ${chosen.size}`)));
  }

  // The chosen letters by queue.
  function chosenPlaces() {
    const of = Map.groupBy(letters.filter((each) => chosen.has(each.token)), (each) => JSON.stringify(each.place));
    return [...of.values()].map((those) => ({ ...those[0].place, messages: Object.fromEntries(those.map((each) => [each.token, each.msg_id])) }));
  }

  function chooseAll() {
    const isAll = chosen.size === letters.length;
    chosen.clear();
    if (!isAll) for (const each of letters) chosen.add(each.token);
    for (const box of list.querySelectorAll("input[type=checkbox]")) box.checked = !isAll;
    drawActions();
    bar.querySelector("button").focus();
  }

  function line(each) {
    const box = isAllowed && h("input", { type: "checkbox", "aria-label": `Choose message ${each.msg_id}`, checked: chosen.has(each.token),
      onchange: () => { if (box.checked) chosen.add(each.token); else chosen.delete(each.token); drawActions(); } });
    const why = each.reason === null ? "no header" : `${each.reason} ${each.reason_name ?? ""}`;
    return row(headings, [...(isAllowed ? [box] : []),
      h("button", { class: "link", onclick: () => open(each) }, each.dead_since ?? "unknown"),
      `${each.place.queue} at ${each.place.qmgr}`, why, each.destination ? `${each.destination} @ ${each.destination_qmgr ?? ""}` : "", each.made_by ?? "", each.source, each.format, each.length]);
  }

  async function open(each) {
    try {
      replace(details, messageOf(await get("/queue/message", { ...each.place, at: each.at })));
      details.focus();
      details.scrollIntoView({ block: "nearest" });
    } catch (error) {
      context.tell(error.message, true);
    }
  }

  await load();
}
