// Structures: state, node, use and latest backup, with BACKUP and RECOVER.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { badge, h, redraw, replace, row, table } from "../dom.js";
import * as live from "../live.js";
import { chooser } from "../managers.js";
import { age } from "./queues.js";

export const title = "Structures";

const HEADINGS = ["Structure", "State", "Server", { text: "Messages", number: true }, "Latest backup here"];

export async function show(element, context) {
  let about = null;
  const isAllowed = actions.of(context, "structure").length > 0, headings = isAllowed ? [...HEADINGS, "Commands"] : HEADINGS;
  const list = h("div"), qmgr = chooser(context);
  replace(element, h("div", { class: "bar" }, isAllowed && h("label", {}, "Commands at ", qmgr), h("button", { onclick: read }, "Read again")), list);
  actions.listen(list, context, read, () => ({ qmgr: qmgr.value }));
  context.whenLeft(live.on("group", draw));

  async function read() {
    try {
      about = await get("/structures");
    } catch (error) {
      context.tell(error.message, true);
    }
    draw();
  }

  function draw() {
    // Before the definitions are read, nothing tells a structure of the group from one of a manager.
    if (about === null) return;
    const group = live.latest("group");
    const states = new Map((group?.structures ?? []).map((each) => [each.name, each]));
    const own = [...states.values()].filter((each) => !about.some((known) => known.name === each.name));
    const rows = [...about.map((each) => line(each, states.get(each.name))), ...own.map((each) => line({ name: each.name }, each))];
    redraw(list, rows.length ? table(headings, rows, { class: "cards" }) : h("p", {}, "There is no structure."));
  }

  function line(each, status) {
    const backup = each.backup && `${each.backup.begun}, ${age(each.backup.age_s)} ago: ${each.backup.messages} messages, ${(each.backup.bytes / 1e6).toFixed(1)} MB`;
    const canRecover = each.recover === "YES";
    const cells = [
      h("span", {}, each.name, " ", h("small", { class: "muted" }, each.description ?? "")),
      status ? badge(status.state) : "", status?.node ?? "", each.messages ?? "",
      each.recover === undefined ? "of a manager" : canRecover ? backup ?? "none" : "RECOVER(NO)"];
    if (isAllowed) cells.push(canRecover ? actions.buttons(context, "structure", { structure: each.name }, each.name) : "");
    return row(headings, cells);
  }

  await read();
}
