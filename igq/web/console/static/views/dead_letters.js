// Dead letters: a list with reasons, and what becomes of those that are chosen.

import { get, post } from "../api.js";
import { h, replace, row, table, visible } from "../dom.js";
import { messageOf } from "./queue.js";

export const title = "Dead letters";

const HEADINGS = ["Chosen", "Dead since", "On", "Reason", "Destination", "Made by", "Put by", "Format", { text: "Length", number: true }];

export async function show(element, context) {
  const chosen = new Set();
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
  const actions = h("div", { class: "bar" }), list = h("div");
  const details = h("section", { class: "message", tabindex: "-1", "aria-live": "polite" });
  replace(element, form, actions, list, details);
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
        ? table(HEADINGS, letters.map(line), { class: "cards", caption: isCut && `The first ${letters.length} are shown.` })
        : h("p", {}, "There is no such dead letter."));
      drawActions();
    } catch (error) {
      context.tell(error.message, true);
    }
    if (number === latest) list.setAttribute("aria-busy", "false");
  }

  function drawActions() {
    const isAllowed = context.can("operator"), isNone = !isAllowed || !chosen.size;
    replace(actions,
      h("button", { disabled: !letters.length, onclick: chooseAll }, chosen.size === letters.length && chosen.size ? "Choose none" : "Choose all"),
      h("button", { disabled: isNone, onclick: () => remove("requeue", "Put back") }, `Put back ${chosen.size}`),
      h("button", { class: "danger", disabled: isNone, onclick: () => remove("discard", "Discard") }, `Discard ${chosen.size}`),
      !isAllowed && h("span", { class: "muted" }, "An operator may put back and discard."));
  }

  function chooseAll() {
    const isAll = chosen.size === letters.length;
    chosen.clear();
    if (!isAll) for (const each of letters) chosen.add(each.token);
    for (const box of list.querySelectorAll("input[type=checkbox]")) box.checked = !isAll;
    drawActions();
    actions.querySelector("button").focus();
  }

  function line(each) {
    const box = h("input", { type: "checkbox", "aria-label": `Choose message ${each.msg_id}`, checked: chosen.has(each.token),
      onchange: () => { if (box.checked) chosen.add(each.token); else chosen.delete(each.token); drawActions(); } });
    const why = each.reason === null ? "no header" : `${each.reason} ${each.reason_name ?? ""}`;
    return row(HEADINGS, [box,
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

  async function remove(action, what) {
    const of = Map.groupBy(letters.filter((each) => chosen.has(each.token)), (each) => JSON.stringify(each.place));
    const names = [...of.values()].map(([{ place: { qmgr, queue } }]) => `${queue} at ${qmgr}`).join(", ");
    if (!confirm(visible(`${what} ${chosen.size} dead letters of ${names}?`))) return;
    for (const button of actions.querySelectorAll("button")) button.disabled = true;
    try {
      let done = 0;
      const left = [];
      for (const those of of.values()) {
        const told = await post(`/dead-letters/${action}`, { ...those[0].place, tokens: those.map((each) => each.token) });
        done += told.done;
        left.push(...told.left.map((each) => `${each.count}${each.destination ? ` for ${each.destination} at ${each.destination_qmgr}` : ""}: ${each.outcome}`));
      }
      await load();
      context.tell([`${done} done`, ...left].join("; "), left.length > 0);
    } catch (error) {
      await load();
      context.tell(error.message, true);
    }
  }

  await load();
}
