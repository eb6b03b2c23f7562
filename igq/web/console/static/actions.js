// Actions: the buttons of a row, and the dialog of one: form, question, and the command that it will run. The server has
// the table of actions, and `me.actions` those that the user may do.

import { post } from "./api.js";
import { h, replace, visible } from "./dom.js";

// Milliseconds after the last key before the command is shown anew.
const PAUSE_MS = 250;

export function of(context, on) {
  return context.me.actions.filter((each) => each.on === on);
}

// The buttons of one row. `subject` is what the server has to know of it, `label` what a person calls it. A button has no
// listener of its own, so that it keeps its place and its focus when a list is drawn anew: `listen` hears it.
export function buttons(context, on, subject, label, isWanted = () => true) {
  return h("span", { class: "buttons" }, of(context, on).filter((each) => isWanted(each.name)).map((each) => [
    h("button", { type: "button", class: each.is_dangerous ? "small danger" : "small", "data-action": each.name,
      "data-subject": JSON.stringify(subject), "data-label": label, "aria-label": visible(`${each.text} ${label}`.trim()) }, each.text), " "]));
}

// Opens the dialog of a button in *element* that is pressed. `more()` adds to its subject, `done(name, isDone)` reads the
// list again.
export function listen(element, context, done = () => {}, more = () => ({})) {
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-action]");
    if (!button) return;
    const { action, subject, label } = button.dataset;
    open(context, action, { ...JSON.parse(subject), ...more() }, label, done);
  });
}

export async function open(context, name, subject, label, done = () => {}) {
  let fields;
  try {
    ({ fields } = await post(`/actions/${name}/form`, subject));
  } catch (error) {
    context.tell(error.message, true);
    return;
  }
  const action = context.me.actions.find((each) => each.name === name);
  const inputs = new Map(fields.map((each) => [each, input(each)]));
  const question = h("p", { class: "question", role: "alert", hidden: true });
  const command = h("pre", { tabindex: "0", role: "group", "aria-label": "Command" });
  const problem = h("p", { class: "problem", role: "alert" });
  const copy = h("button", { type: "button", class: "small", onclick: () => copied() }, "Copy");
  const cancel = h("button", { type: "button", autofocus: !fields.length, onclick: () => end() }, "Cancel");
  const run = h("button", { class: action.is_dangerous ? "danger" : "primary", disabled: true }, action.text);
  const further = fields.filter((each) => each.is_further);
  const form = h("form", {},
    h("h2", { id: "action-title" }, `${action.text} ${label}`.trim()),
    h("div", { class: "form" }, fields.filter((each) => !each.is_further).map(labelled)),
    further.length > 0 && h("details", {}, h("summary", {}, `${further.length} further attributes`),
      h("div", { class: "form" }, further.map(labelled))),
    h("div", { class: "bar" }, h("strong", {}, "Command"), copy), command, question, problem,
    h("div", { class: "bar" }, run, cancel));
  const dialog = h("dialog", { class: "action", "aria-labelledby": "action-title" }, form);
  let latest = 0, timer = 0, text = "", qmgr = "";

  function labelled(each) {
    const made = inputs.get(each);
    return h("div", { class: "field" }, h("label", { for: made.id }, each.label), made,
      each.help && h("small", { id: `${made.id}-help`, class: "muted" }, each.help));
  }

  function asked() {
    const told = { ...subject, attributes: {} };
    for (const [each, { value }] of inputs) (each.is_attribute ? told.attributes : told)[each.name] = value;
    return told;
  }

  function show(told) {
    ({ text, qmgr = "" } = told);
    replace(command, text);
    replace(question, told.question);
    question.hidden = !told.question;
    replace(problem, told.problem ?? "");
    run.disabled = copy.disabled = !text;
  }

  // Asks for the command of what is in the form now. An answer that a later one has overtaken is not shown.
  async function plan() {
    const number = latest += 1;
    run.disabled = true;
    if (!form.checkValidity()) {
      show({ text: "", question: "" });
      return;
    }
    try {
      const told = await post(`/actions/${name}/plan`, asked());
      if (number === latest) show(told);
    } catch (error) {
      if (number === latest) show({ text: "", question: "", problem: error.message });
    }
  }

  async function copied() {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without TLS a browser has no clipboard for scripts.
      getSelection().selectAllChildren(command);
      document.execCommand("copy");
    }
    replace(copy, "Copied");
  }

  function end() {
    clearTimeout(timer);
    if (dialog.open) dialog.close();
    dialog.remove();
  }

  form.addEventListener("input", () => {
    latest += 1;
    run.disabled = true;
    replace(copy, "Copy");
    clearTimeout(timer);
    timer = setTimeout(plan, PAUSE_MS);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (run.disabled) return;
    run.disabled = true;
    try {
      const { answers } = await post(`/actions/${name}/run`, { ...asked(), seen: [qmgr, text] });
      const lines = answers.flatMap((each) => each.lines).join("\n"), isDone = answers.every((each) => each.is_done);
      const isOver = isDone || !fields.length;
      if (isOver) end();
      else {
        replace(problem, lines);
        run.disabled = false;
      }
      await done(name, isDone);
      // By now the list shows what was done.
      if (isOver) context.tell(lines, !isDone);
    } catch (error) {
      // The command may be another one by now: show it before it can be run.
      await plan();
      replace(problem, error.message);
    }
  });
  dialog.addEventListener("close", () => end());
  context.whenLeft(end);
  document.body.append(dialog);
  dialog.showModal();
  await plan();
}

function input(field) {
  const id = `field-${field.name}`;
  const attributes = { id, required: field.is_required, "aria-describedby": field.help && `${id}-help` };
  if (field.choices.length) {
    return h("select", attributes, field.choices.map((each) =>
      h("option", { value: each, selected: each === field.value }, each || "as the default")));
  }
  const made = field.is_text ? h("textarea", { ...attributes, rows: 4 })
    : h("input", { ...attributes, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  made.value = field.value;
  return made;
}
