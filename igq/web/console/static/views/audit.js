// The audit trail: who signed in, gave a command, added a user or a token. The latest come first.

import { get } from "../api.js";
import { h, redraw, replace, row, table } from "../dom.js";

export const title = "Audit trail";
export const menu = "Audit";
export const role = "administrator";

const HEADINGS = ["Time (UTC)", "User", "From", "By", "At", "Deed", "Result"];

export async function show(element, context) {
  const search = h("input", { type: "search", placeholder: "Filter: part of a user, a command ...", "aria-label": "Filter" });
  const list = h("div"), older = h("button", { onclick: () => read(next) }, "Older ones");
  let deeds = [], next = "";
  replace(element, h("div", { class: "bar" }, search, h("button", { onclick: () => read("") }, "Read again")), list, older);
  search.addEventListener("input", draw);

  async function read(before) {
    try {
      const found = await get("/audit", { before });
      deeds = before ? [...deeds, ...found.deeds] : found.deeds;
      next = found.next;
      draw();
    } catch (error) {
      context.tell(error.message, true);
    }
  }

  function draw() {
    const wanted = search.value.trim().toUpperCase();
    const rows = deeds.filter((each) => Object.values(each).join("\n").toUpperCase().includes(wanted)).map(line);
    redraw(list, rows.length ? table(HEADINGS, rows, { class: "cards" }) : h("p", {}, "There is no such entry."));
    older.hidden = !next;
  }

  await read("");
}

function line(each) {
  const time = new Date(each.at_ms).toISOString().slice(0, 19).replace("T", " ");
  return row(HEADINGS, [h("time", {}, time), each.user, each.host, each.way, each.qmgr, h("code", {}, each.what), each.result]);
}
