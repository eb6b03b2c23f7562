// MQSC: commands at a manager, with history and completion.

import { get, post } from "../api.js";
import { h, replace, visible } from "../dom.js";
import { chooser } from "../managers.js";
import * as live from "../live.js";
import { completions } from "./completion.js";

export const title = "MQSC";

const KEPT = 100, SHOWN = 12, ANSWERS = 50;

export async function show(element, context) {
  const history = historyOf(context.me);
  let at = history.length, draft = "", found = null;
  const box = h("textarea", { id: "command", rows: 3, spellcheck: "false", autocapitalize: "none", autocomplete: "off",
    "aria-describedby": "hint", placeholder: "DISPLAY QUEUE(*) CURDEPTH" });
  const qmgr = chooser(context), run = h("button", { class: "primary" }, "Run");
  const offered = h("div", { class: "offered", "aria-live": "polite" });
  const answers = h("div", { class: "answers", role: "log", "aria-label": "Answers" });
  const form = h("form", { class: "command" },
    h("label", {}, "Manager", qmgr), h("label", { for: "command" }, "Commands"), box, offered,
    h("p", { id: "hint", class: "muted" },
      "Enter runs, Shift+Enter begins a line, Tab completes, Escape ends that, Up and Down go through the history."),
    run);
  replace(element, form, answers);
  const words = await get("/mqsc/words");

  function offer() {
    found = completions(words, box.value.slice(0, box.selectionStart), names);
    const all = found.words;
    replace(offered, all.slice(0, SHOWN).map((word) =>
      h("button", { type: "button", class: "small", tabindex: -1, onclick: () => { take(word); box.focus(); } }, word)),
    all.length > SHOWN && h("span", { class: "muted" }, ` and ${all.length - SHOWN} more`));
  }

  function take(word) {
    const end = box.selectionStart;
    box.setRangeText(word, end - found.typed.length, end, "end");
    offer();
  }

  function recall(step) {
    const next = at + step;
    if (next < 0 || next > history.length) return;
    if (at === history.length) draft = box.value;
    at = next;
    box.value = at === history.length ? draft : history[at];
    box.selectionStart = box.selectionEnd = box.value.length;
    clear();
  }

  function clear() {
    found = null;
    replace(offered);
  }

  box.addEventListener("input", offer);
  box.addEventListener("keydown", (event) => {
    const before = box.value.slice(0, box.selectionStart), after = box.value.slice(box.selectionEnd);
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) form.requestSubmit();
    else if (event.key === "Tab" && !event.shiftKey && found?.typed && found.words.length) take(found.words[0]);
    else if (event.key === "Escape") clear();
    else if (event.key === "ArrowUp" && !before.includes("\n")) recall(-1);
    else if (event.key === "ArrowDown" && !after.includes("\n")) recall(1);
    else return;
    event.preventDefault();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const commands = box.value.trim();
    if (!commands || run.disabled) return;
    if (history.at(-1) !== commands) history.push(commands);
    keep(context.me, history);
    at = history.length;
    run.disabled = true;
    try {
      const { questions } = await post("/mqsc/questions", { qmgr: qmgr.value, commands });
      if (questions.length && !confirm(visible([...questions, "Run?"].join("\n")))) return;
      const told = await post("/mqsc", { qmgr: qmgr.value, commands });
      answers.prepend(answered(qmgr.value, commands, told.answers));
      while (answers.children.length > ANSWERS) answers.lastChild.remove();
      box.value = "";
      clear();
    } catch (error) {
      context.tell(error.message, true);
    } finally {
      run.disabled = false;
    }
  });
  box.focus();
}

function answered(qmgr, commands, answers) {
  const isDone = answers.every((each) => each.is_done);
  return h("section", { class: isDone ? "answer" : "answer failed" },
    h("pre", { class: "given" }, `${qmgr}> ${commands}`),
    answers.map((each) => h("pre", { class: each.is_done ? undefined : "fault" }, each.lines.join("\n"))));
}

// The names of objects that a browser knows anyway.
function names(kind) {
  const queues = ["QLOCAL", "QUEUE", "QSTATUS"].includes(kind) ? live.latest("queues")?.rows.values() ?? [] : [];
  const structures = ["CFSTRUCT", "CFSTATUS"].includes(kind) ? live.latest("group")?.structures ?? [] : [];
  return [...new Set([...queues, ...structures].map((each) => each.name))].sort();
}

function historyOf(me) {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(me)));
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

function keep(me, history) {
  history.splice(0, history.length - KEPT);
  try {
    localStorage.setItem(keyOf(me), JSON.stringify(history));
  } catch {
    // A browser that keeps nothing has a history for as long as the view is open.
  }
}

function keyOf(me) {
  return `igq mqsc ${me.group} ${me.user}`;
}
