// Drills: one is chosen, started, watched line by line, and perhaps stopped.

import { get, post } from "../api.js";
import { append, badge, h, redraw, replace } from "../dom.js";

export const title = "Drills";

const PERIOD_MS = 1000;

export async function show(element, context) {
  if (!context.can("administrator")) {
    replace(element, h("p", {}, "An administrator may start drills."));
    return;
  }
  const name = h("select", { onchange: describe }), summary = h("p", { class: "muted" });
  const seed = h("input", { type: "number", min: 0, max: 1e9, placeholder: "drawn" });
  const audit = h("input", { type: "checkbox" });
  const start = h("button", { class: "primary", onclick: () => act("/drills/start", { name: name.value,
    seed: seed.value === "" ? null : Number(seed.value), is_audited: audit.checked }) }, "Start");
  const stop = h("button", { class: "danger", disabled: true, onclick: () => act("/drills/stop") }, "Stop");
  const state = h("p", { role: "status" }), lines = h("pre", { tabindex: 0, "aria-label": "Lines of the drill", hidden: true });
  replace(element,
    h("p", {}, "A drill kills or pauses parts of a group of its own on the machine of the console. The live group is not touched."),
    h("div", { class: "bar" }, h("label", {}, "Drill ", name), h("label", {}, "Seed ", seed),
      h("label", {}, audit, " audit"), start, stop), summary, state, lines);

  let drills = [], next = 0, run = -1, timer = 0, hasLeft = false;
  context.whenLeft(() => { hasLeft = true; clearTimeout(timer); });

  function describe() {
    replace(summary, drills.find((each) => each.name === name.value)?.summary ?? "");
  }

  async function act(path, body) {
    start.disabled = stop.disabled = true;
    try {
      await post(path, body);
    } catch (error) {
      context.tell(error.message, true);
    }
    await look();
  }

  // One look at a time; the next one follows after a second, and sees what another page has started.
  async function look() {
    clearTimeout(timer);
    let found;
    try {
      found = await get("/drills/run", { run, since: next });
    } catch (error) {
      if (!hasLeft) context.tell(error.message, true);
      found = null;
    }
    if (hasLeft) return;
    clearTimeout(timer);
    timer = setTimeout(look, PERIOD_MS);
    if (!found) return;
    const isAtEnd = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 20;
    if (found.run !== run) replace(lines);
    run = found.run;
    next = found.next;
    append(lines, found.lines.map((line) => line + "\n"));
    lines.hidden = !found.name;
    if (isAtEnd) lines.scrollTop = lines.scrollHeight;
    start.disabled = found.is_running;
    stop.disabled = found.verdict !== "RUNNING";
    redraw(state, found.name && [`${found.name} `, badge(found.verdict)]);
  }

  drills = await get("/drills");
  if (hasLeft) return;
  replace(name, drills.map((each) => h("option", { value: each.name }, each.name)));
  describe();
  await look();
}
