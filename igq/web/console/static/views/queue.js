// One queue: its last hours, a page of messages or what a search finds, one message with its descriptor, headers and body, and what an
// operator does with the queue and with chosen messages.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { append, h, redraw, replace, row, table } from "../dom.js";
import { graph, spanChoice } from "../graph.js";
import * as live from "../live.js";
import { age, bar, part } from "./queues.js";

export const title = "Queue";
export const hidden = true;

const HEADINGS = ["Chosen", "Put", { text: "Length", number: true }, "Format", { text: "Priority", number: true }, "Persistence", "By", "Beginning"];
const PERSISTENCE = { 0: "no", 1: "yes", 2: "as queue" };
const KINDS = { text: "Text", property: "Property, as NAME=VALUE", msg_id: "MsgId", correl_id: "CorrelId", group_id: "GroupId" };
// Messages that a search shows, and that can be chosen.
const MOST_FOUND = 200, MOST_CHOSEN = 200;

export function show(element, context) {
  const [queue = "", qmgr = ""] = context.parts;
  const facts = h("p", { class: "facts" });
  const list = h("div"), details = h("section", { class: "message", tabindex: "-1", "aria-live": "polite" });
  const forChosen = h("div", { class: "bar" });
  // Cursor -> the message of a line that is chosen.
  const chosen = new Map();
  const starts = [""];
  const history = h("div", { class: "graphs" }), spans = h("div", { class: "bar", hidden: true });
  let page = 0, search = null;
  replace(element, h("h2", { class: "queue-name" }, queue, " ", h("small", { class: "muted" }, qmgr ? `at ${qmgr}` : "shared")), facts, spans, history,
    h("div", { class: "bar" }, actions.buttons(context, "queue", { queue, qmgr }, queue)), searchForm(), forChosen, list, details);
  append(spans, [spanChoice(context, "/queue/history", { queue, qmgr }, drawHistory)]);
  actions.listen(element, context, (name, isDone) => {
    if (name !== "delete") return turn(0);
    return isDone && replace(list);
  });
  context.whenLeft(() => search?.abort());
  context.whenLeft(live.on("queues", ({ rows }) => {
    const found = [...rows.values()].find((each) => each.name === queue && (each.owner ?? "") === qmgr);
    if (!found) { redraw(facts, "The queue is not there."); return; }
    const oldest = found.oldest_at === null ? "" : `, the oldest ${age(Date.now() / 1000 - found.oldest_at)} old`;
    redraw(facts, `${found.depth} messages${oldest}; ${found.uncommitted} uncommitted; open ${found.open_input} for input, ${found.open_output} for output; ${found.waiters} gets wait `,
      bar(part(found)), part(found) === null ? "" : ` of MAXDEPTH(${found.max_depth})`);
  }));

  function drawHistory({ looks, is_noted: isNoted }) {
    const isCounted = looks.some((each) => each.puts !== null);
    spans.hidden = !isNoted;
    redraw(history, looks.length > 1
      ? [graph("Depth", looks.map((each) => [each.at_ms, each.depth])),
        graph("Oldest message", looks.map((each) => [each.at_ms, each.oldest_s ?? 0]), age),
        isCounted && graph("Puts a minute", rates(looks, "puts")), isCounted && graph("Gets a minute", rates(looks, "gets"))]
      : isNoted && h("p", { class: "muted" }, "Graphs begin when a console of a manager has looked twice: each minute for the last hour, each five for six, each fifteen for a day."));
  }

  async function load() {
    const found = await get("/queue/messages", { queue, qmgr, from: starts[page] });
    if (found.next) starts[page + 1] = found.next;
    display(found.messages, page ? "No further message." : "No message can be read now.",
      h("div", { class: "bar" },
        h("button", { disabled: page === 0, onclick: () => turn(-1) }, "Previous"),
        h("span", { class: "muted" }, `page ${page + 1}`),
        h("button", { disabled: !found.next, onclick: () => turn(1) }, "Next"),
        h("button", { onclick: () => turn(0) }, "Read again")));
  }

  function display(messages, none, after) {
    replace(list, messages.length
      ? table(HEADINGS, messages.map(line), { class: "cards messages" })
      : h("p", { class: "muted" }, none), after);
    for (const at of chosen.keys()) if (!messages.some((each) => each.at === at)) chosen.delete(at);
    drawChosen();
  }

  function turn(by) {
    search?.abort();
    page += by;
    replace(details);
    return load().catch((error) => context.tell(error.message, true));
  }

  function searchForm() {
    const kind = h("select", { "aria-label": "Search for" }, Object.entries(KINDS).map(([name, text]) => h("option", { value: name }, text)));
    const text = h("input", { type: "search", required: true, "aria-label": "Text to search", placeholder: "Search in the messages", spellcheck: "false" });
    const form = h("form", { class: "bar" }, kind, text, h("button", {}, "Search"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      find(kind.value, text.value).catch((error) => { if (error.name !== "AbortError") context.tell(error.message, true); });
    });
    return form;
  }

  // Asks step by step, as each step looks at a bounded number of messages, until the user has seen enough.
  async function find(kind, text) {
    search?.abort();
    const own = search = new AbortController();
    const status = h("span", { class: "muted", role: "status" });
    const cancel = h("button", { onclick: () => { own.abort(); tell("cancelled"); } }, "Cancel");
    const after = h("div", { class: "bar" }, status, cancel, h("button", { onclick: () => turn(0) }, "All messages"));
    const found = [];
    let visited = 0, from = "";
    const tell = (state) => { replace(status, `${found.length} found in ${visited} messages, ${state}`); cancel.disabled = state !== "searching"; };
    replace(details);
    display(found, "", after);
    tell("searching");
    while (from !== null) {
      const step = await get("/queue/search", { queue, qmgr, kind, text, from }, own.signal);
      found.push(...step.messages);
      visited += step.visited;
      if (step.messages.length) display(found, "", after);
      from = step.next;
      tell("searching");
      if (found.length >= MOST_FOUND) break;
    }
    tell(from === null ? "that is all" : "there may be more");
    if (!found.length) display(found, "No message fits.", after);
  }

  function drawChosen() {
    const places = [{ queue, qmgr, messages: Object.fromEntries([...chosen.values()].map((each) => [each.token, each.msg_id])) }];
    const query = new URLSearchParams([["queue", queue], ["qmgr", qmgr], ...[...chosen.keys()].map((at) => ["at", at])]);
    forChosen.hidden = !chosen.size;
    replace(forChosen, h("span", { class: "muted" }, `${chosen.size} chosen`),
      actions.of(context, "messages").map((each) => h("button", {
        onclick: () => actions.open(context, each.name, { places }, `${chosen.size} messages`, () => { chosen.clear(); return turn(0); }) }, each.text)),
      h("a", { href: `api/queue/download?${query}`, download: true }, "Download"));
  }

  function line(each) {
    const time = `${each.put_date.replace(/(....)(..)(..)/, "$1-$2-$3")} ${each.put_time.slice(0, 6).replace(/(..)(..)(..)/, "$1:$2:$3")}`;
    const box = h("input", { type: "checkbox", "aria-label": `Choose message ${each.msg_id}`, checked: chosen.has(each.at), onchange: () => {
      if (box.checked && chosen.size < MOST_CHOSEN) chosen.set(each.at, each);
      else { chosen.delete(each.at); box.checked = false; }
      drawChosen();
    } });
    return row(HEADINGS, [
      box, h("button", { class: "link", onclick: () => open(each.at) }, time),
      each.length, [...each.headers, each.format].filter((name, at, all) => all.indexOf(name) === at).join(" "),
      each.priority, PERSISTENCE[each.persistence] ?? each.persistence, `${each.user_identifier} ${each.put_appl_name}`,
      h("code", { class: "preview" }, each.preview)]);
  }

  async function open(at) {
    try {
      const query = new URLSearchParams({ queue, qmgr, at });
      replace(details, messageOf(await get("/queue/message", { queue, qmgr, at })),
        h("p", {}, h("a", { href: `api/queue/download?${query}`, download: true }, "Download its data")));
      details.focus();
      details.scrollIntoView({ block: "nearest" });
    } catch (error) {
      context.tell(error.message, true);
    }
  }

  return load();
}

// Counts begin anew with RESET QSTATS, and where nothing is counted a minute is left out.
function rates(looks, name) {
  return looks.slice(1).map((each, at) => [each.at_ms, each[name], looks[at][name], (each.at_ms - looks[at].at_ms) / 60000])
    .filter(([, now, before, minutes]) => now !== null && before !== null && minutes > 0)
    .map(([atMs, now, before, minutes]) => [atMs, Math.round((now >= before ? now - before : now) / minutes)]);
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
