// One queue: a page of messages, and one message with its descriptor, headers and body. Nothing is removed.

import { get } from "../api.js";
import { append, h, redraw, replace, row, table } from "../dom.js";
import * as live from "../live.js";
import { age } from "./queues.js";

export const title = "Queue";
export const hidden = true;

const HEADINGS = ["Put", { text: "Length", number: true }, "Format", { text: "Priority", number: true }, "Persistence", "By", "Beginning"];
const PERSISTENCE = { 0: "no", 1: "yes", 2: "as queue" };

export function show(element, context) {
  const [queue = "", qmgr = ""] = context.parts;
  const facts = h("p", { class: "facts" });
  const list = h("div"), details = h("section", { class: "message", tabindex: "-1", "aria-live": "polite" });
  const starts = [""];
  let page = 0;
  replace(element, h("h2", { class: "queue-name" }, queue, " ", h("small", { class: "muted" }, qmgr ? `at ${qmgr}` : "shared")), facts, list, details);
  context.whenLeft(live.on("queues", ({ rows }) => {
    const found = [...rows.values()].find((each) => each.name === queue && (each.owner ?? "") === qmgr);
    if (!found) { redraw(facts, "The queue is not there."); return; }
    const oldest = found.oldest_at === null ? "" : `, the oldest ${age(Date.now() / 1000 - found.oldest_at)} old`;
    redraw(facts, `${found.depth} messages${oldest}; ${found.uncommitted} uncommitted; open ${found.open_input} for input, ${found.open_output} for output; ${found.waiters} gets wait`);
  }));

  async function load() {
    const found = await get("/queue/messages", { queue, qmgr, from: starts[page] });
    if (found.next) starts[page + 1] = found.next;
    replace(list,
      found.messages.length
        ? table(HEADINGS, found.messages.map(line), { class: "cards messages" })
        : h("p", { class: "muted" }, page ? "No further message." : "No message can be read now."),
      h("div", { class: "bar" },
        h("button", { disabled: page === 0, onclick: () => turn(-1) }, "Previous"),
        h("span", { class: "muted" }, `page ${page + 1}`),
        h("button", { disabled: !found.next, onclick: () => turn(1) }, "Next"),
        h("button", { onclick: () => turn(0) }, "Read again")));
  }

  function turn(by) {
    page += by;
    replace(details);
    load().catch((error) => context.tell(error.message, true));
  }

  function line(each) {
    const time = `${each.put_date.replace(/(....)(..)(..)/, "$1-$2-$3")} ${each.put_time.slice(0, 6).replace(/(..)(..)(..)/, "$1:$2:$3")}`;
    return row(HEADINGS, [
      h("button", { class: "link", onclick: () => open(each.at) }, time),
      each.length, [...each.headers, each.format].filter((name, at, all) => all.indexOf(name) === at).join(" "),
      each.priority, PERSISTENCE[each.persistence] ?? each.persistence, `${each.user_identifier} ${each.put_appl_name}`,
      h("code", { class: "preview" }, each.preview)]);
  }

  async function open(at) {
    try {
      replace(details, messageOf(await get("/queue/message", { queue, qmgr, at })));
      details.focus();
      details.scrollIntoView({ block: "nearest" });
    } catch (error) {
      context.tell(error.message, true);
    }
  }

  return load();
}

export function messageOf(found) {
  const forms = formsOf(found), shown = h("pre", { tabindex: "0" });
  const buttons = forms.map(([name, text]) => h("button", { class: "small", "aria-pressed": "false", onclick: (event) => choose(event.currentTarget, text) }, name));
  function choose(button, text) {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    replace(shown, text());
  }
  choose(buttons[0], forms[0][1]);
  return [
    h("h2", {}, "Body"),
    h("p", { class: "muted" }, `${found.body_length} bytes, format ${found.body_format || "none"}, CCSID ${found.body_ccsid}${found.is_cut ? "; only the beginning is shown" : ""}`),
    h("div", { class: "bar", role: "group", "aria-label": "Show the body as" }, buttons), shown,
    found.decoded.map((header) => [h("h2", {}, header.name), fields(header.fields), header.folders.map((folder) => h("pre", { tabindex: "0" }, folder))]),
    h("h2", {}, "Descriptor"), fields(found.descriptor),
    h("p", {}, h("a", { href: `#/trace/msg_id/${found.descriptor.msg_id}` }, "The way of this message")),
  ];
}

function formsOf(found) {
  const forms = [];
  if (found.text !== null) {
    try {
      const pretty = JSON.stringify(JSON.parse(found.text), null, 2);
      if (/^\s*[[{]/.test(found.text)) forms.push(["JSON", () => pretty]);
    } catch {
      // It is no JSON.
    }
    forms.push(["Text", () => found.text]);
  }
  forms.push(["Hex", () => hexdump(found.hex)]);
  if (found.data_hex) forms.push(["Hex with headers", () => hexdump(found.data_hex)]);
  return forms;
}

function hexdump(hex) {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) {
    const bytes = hex.slice(at, at + 32).match(/../g);
    const text = bytes.map((each) => parseInt(each, 16)).map((code) => code >= 32 && code < 127 ? String.fromCharCode(code) : ".").join("");
    lines.push(`${(at / 2).toString(16).padStart(6, "0")}  ${bytes.join(" ").padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}

function fields(values) {
  const list = h("dl", { class: "fields" });
  for (const [name, value] of Object.entries(values)) {
    append(list, [h("dt", {}, name.split("_").map((word) => word[0].toUpperCase() + word.slice(1)).join("")), h("dd", {}, h("code", {}, value))]);
  }
  return list;
}
