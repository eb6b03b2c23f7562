// Structures: state, node, use and latest backup, with BACKUP and RECOVER.

import { get } from "../api.js";
import { command } from "../commands.js";
import { badge, h, redraw, replace, row, table } from "../dom.js";
import * as live from "../live.js";
import { chooser } from "../managers.js";
import { age } from "./queues.js";

export const title = "Structures";

const HEADINGS = ["Structure", "State", "Server", { text: "Messages", number: true }, "Latest backup here", "Commands"];

export async function show(element, context) {
  let about = null, isBusy = false;
  const list = h("div"), qmgr = chooser(context), isAllowed = context.can("operator");
  replace(element,
    h("div", { class: "bar" }, h("label", {}, "Commands at ", qmgr), h("button", { onclick: read }, "Read again"),
      !isAllowed && h("span", { class: "muted" }, "An operator may back up and recover.")), list);
  context.whenLeft(live.on("group", draw));

  async function read() {
    try {
      about = await get("/structures");
    } catch (error) {
      context.tell(error.message, true);
    }
    draw();
  }

  // Buttons keep their places while the list is drawn anew, so that the focus can stay.
  function draw() {
    // Before the definitions are read, nothing tells a structure of the group from one of a manager.
    if (about === null) return;
    const group = live.latest("group"), focused = document.activeElement?.dataset?.command;
    const states = new Map((group?.structures ?? []).map((each) => [each.name, each]));
    const own = [...states.values()].filter((each) => !about.some((known) => known.name === each.name));
    const rows = [...about.map((each) => line(each, states.get(each.name))), ...own.map((each) => line({ name: each.name }, each))];
    redraw(list, rows.length ? table(HEADINGS, rows, { class: "cards" }) : h("p", {}, "There is no structure."));
    if (focused) [...list.querySelectorAll("button")].find((each) => each.dataset.command === focused)?.focus();
  }

  function line(each, status) {
    const backup = each.backup && `${each.backup.begun}, ${age(each.backup.age_s)} ago: ${each.backup.messages} messages, ${(each.backup.bytes / 1e6).toFixed(1)} MB`;
    const canRecover = each.recover === "YES";
    return row(HEADINGS, [
      h("span", {}, each.name, " ", h("small", { class: "muted" }, each.description ?? "")),
      status ? badge(status.state) : "", status?.node ?? "", each.messages ?? "",
      each.recover === undefined ? "of a manager" : canRecover ? backup ?? "none" : "RECOVER(NO)",
      canRecover ? h("span", { class: "buttons" }, button(each.name, "BACKUP", "Back up"), " ", button(each.name, "RECOVER", "Recover")) : ""]);
  }

  function button(structure, action, text) {
    return h("button", { class: action === "RECOVER" ? "small danger" : "small", disabled: !isAllowed || isBusy,
      "data-command": `${action} ${structure}`, onclick: () => run(structure, action) }, text);
  }

  async function run(structure, action) {
    isBusy = true;
    draw();
    const question = action === "BACKUP" ? `Back up ${structure}?` : `Recover ${structure}? Its messages become those of its latest backup and log.`;
    const isAsked = await command(context, question, "/structures/run", { qmgr: qmgr.value, structure, action });
    isBusy = false;
    if (isAsked) await read();
    else draw();
  }

  await read();
}
