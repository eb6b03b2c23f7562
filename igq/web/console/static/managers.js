// A choice of the managers that run. It follows the group for as long as a view is open.

import { h, replace } from "./dom.js";
import * as live from "./live.js";

export function chooser(context, attributes = {}) {
  const choice = h("select", attributes);
  context.whenLeft(live.on("group", (group) => {
    const names = running(group);
    if (names.join() === [...choice.options].map((each) => each.value).join()) return;
    const before = choice.value;
    replace(choice, names.map((each) => h("option", { value: each, selected: each === before }, each)));
  }));
  return choice;
}

export function running(group) {
  return group.managers.filter((each) => each.state === "RUNNING").map((each) => each.name);
}
