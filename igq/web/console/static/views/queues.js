// All local queues: filtered, sorted, and as many rows as are in sight. 2,000 queues cost no more than 20.

import * as actions from "../actions.js";
import { h, redraw, replace, svg } from "../dom.js";
import * as live from "../live.js";

export const title = "Queues";

const ROW = 34;
const COLUMNS = [
  { name: "name", text: "Queue", value: (each) => each.name },
  { name: "where", text: "Where", value: (each) => each.owner ?? each.structure ?? "" },
  { name: "depth", text: "Depth", number: true, value: (each) => each.depth },
  { name: "full", text: "Of MAXDEPTH", number: true, value: (each) => part(each) ?? -1 },
  { name: "age", text: "Oldest", number: true, value: (each) => each.oldest_at === null ? -1 : now() - each.oldest_at },
  { name: "rate", text: "Per second", number: true, value: rate },
  { name: "trend", text: "Trend", value: rate },
  { name: "uncommitted", text: "Uncommitted", number: true, value: (each) => each.uncommitted },
  { name: "open", text: "Open in/out", number: true, value: (each) => each.open_input + each.open_output },
  { name: "waiters", text: "Waiting", number: true, value: (each) => each.waiters },
];
const PERIOD = 2;
// MAXDEPTH of a queue that has no limit.
const NO_LIMIT = 999999999;
let filter = "", hasSystem = false, isWithoutEmpty = false, sortedBy = "name", isDown = false;

function now() {
  return Date.now() / 1000;
}

// Messages a second that the queue grew or shrank by, over its last looks.
function rate(each) {
  const past = each.history.slice(-6);
  return past.length < 2 ? 0 : (past.at(-1) - past[0]) / ((past.length - 1) * PERIOD);
}

// The depth as a part of MAXDEPTH; null: there is no limit.
export function part(each) {
  return each.max_depth >= NO_LIMIT ? null : each.max_depth ? each.depth / each.max_depth : 1;
}

export function percent(fraction) {
  return fraction > 0 && fraction < 0.01 ? "<1 %" : `${Math.floor(100 * fraction)} %`;
}

export function age(seconds) {
  if (seconds < 0) return "";
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

export function show(element, context) {
  let all = [], rows = [];
  // Key of a queue -> its row, and how often the data had changed when that was filled.
  let drawn = new Map(), changes = 0, isDue = false;
  const search = h("input", { type: "search", value: filter, placeholder: "Filter: part of a name, or PAYMENT.*", "aria-label": "Filter" });
  const system = h("input", { type: "checkbox" });
  system.checked = hasSystem;
  const empty = h("input", { type: "checkbox" });
  empty.checked = isWithoutEmpty;
  const count = h("span", { class: "muted", role: "status" });
  const head = h("div", { class: "grid head", role: "row" }, COLUMNS.map((each) =>
    h("span", { role: "columnheader", class: cell(each), "data-sort": each.name },
      h("button", { class: "sort", onclick: () => sort(each.name) }, each.text))));
  const inner = h("div", { class: "inner" });
  const list = h("div", { class: "virtual", tabindex: "0", role: "rowgroup", "aria-label": "Queues" }, inner);
  replace(element, h("div", { class: "bar" }, search, h("label", {}, system, " system queues"),
    h("label", {}, empty, " hide empty ones"), count, actions.buttons(context, "queues", {}, "")),
    h("div", { class: "panel", role: "table", "aria-label": "Queues" }, head, list));

  actions.listen(element, context);

  function choose() {
    const wanted = pattern(filter), column = COLUMNS.find((each) => each.name === sortedBy);
    rows = all.filter((each) => (hasSystem || !each.name.startsWith("SYSTEM.") || filter) && !(isWithoutEmpty && !each.depth) && wanted(each.name));
    const values = new Map(rows.map((each) => [each, column.value(each)]));
    rows.sort((a, b) => {
      const x = values.get(a), y = values.get(b);
      return ((x > y) - (x < y)) * (isDown ? -1 : 1) || (a.key > b.key) - (a.key < b.key);
    });
    changes += 1;
    redraw(count, `${rows.length} of ${all.length}`);
    for (const each of head.children) {
      if (each.dataset.sort === sortedBy) each.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      else each.removeAttribute("aria-sort");
    }
    draw();
  }

  // Rows that stay in sight are kept while the list is scrolled: only new ones are made.
  function draw() {
    isDue = false;
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 5);
    const last = Math.min(rows.length, first + Math.ceil(list.clientHeight / ROW) + 11);
    const focused = document.activeElement?.dataset?.key;
    const shown = rows.slice(first, last), before = drawn;
    drawn = new Map(shown.map((each) => [each.key, before.get(each.key) ?? { element: h("div"), changes: 0 }]));
    for (const [key, { element }] of before) if (!drawn.has(key)) element.remove();
    inner.style.height = `${rows.length * ROW}px`;
    shown.forEach((each, at) => {
      const known = drawn.get(each.key);
      if (known.changes !== changes) { fill(known.element, each); known.changes = changes; }
      known.element.style.top = `${(first + at) * ROW}px`;
      if (inner.children[at] !== known.element) inner.insertBefore(known.element, inner.children[at] ?? null);
    });
    if (focused && document.activeElement?.dataset?.key !== focused) [...inner.querySelectorAll("a")].find((each) => each.dataset.key === focused)?.focus({ preventScroll: true });
  }

  // Many events may come before the next frame: it draws once.
  function drawSoon() {
    if (!isDue) requestAnimationFrame(draw);
    isDue = true;
  }

  function sort(name) {
    isDown = name === sortedBy ? !isDown : name !== "name" && name !== "where";
    sortedBy = name;
    choose();
  }

  search.addEventListener("input", () => { filter = search.value.trim(); list.scrollTop = 0; choose(); });
  system.addEventListener("change", () => { hasSystem = system.checked; choose(); });
  empty.addEventListener("change", () => { isWithoutEmpty = empty.checked; list.scrollTop = 0; choose(); });
  list.addEventListener("scroll", drawSoon);
  const resized = new ResizeObserver(() => {
    // The headings end where the rows do, beside the scroll bar.
    head.style.paddingRight = `${list.offsetWidth - list.clientWidth + 10}px`;
    drawSoon();
  });
  resized.observe(list);
  context.whenLeft(() => resized.disconnect());
  context.whenLeft(live.on("queues", (data) => { all = [...data.rows.values()]; choose(); }));
}

function cell(column) {
  return `c-${column.name}${column.number ? " number" : ""}`;
}

function fill(element, each) {
  const change = rate(each);
  const texts = {
    name: h("a", { "data-key": each.key, href: `#/queue/${encodeURIComponent(each.name)}/${encodeURIComponent(each.owner ?? "")}` }, each.name),
    where: each.owner ?? each.structure ?? "",
    depth: String(each.depth),
    full: bar(part(each)),
    age: each.oldest_at === null ? "" : age(now() - each.oldest_at),
    rate: change ? `${change > 0 ? "+" : ""}${change.toFixed(1)}` : "",
    trend: sparkline(each.history),
    uncommitted: each.uncommitted || "",
    open: each.open_input || each.open_output ? `${each.open_input}/${each.open_output}` : "",
    waiters: each.waiters || "",
  };
  const isFull = (part(each) ?? 0) >= 0.8;
  element.className = `grid${isFull ? " full" : ""}`;
  element.setAttribute("role", "row");
  redraw(element, COLUMNS.map((column) => h("span", { role: "cell", class: cell(column) }, texts[column.name])));
}

// A bar and per cent; nothing where there is no limit.
export function bar(fraction) {
  if (fraction === null) return "";
  const full = svg("rect", { width: Math.min(60, 60 * fraction).toFixed(1), height: 8, class: "part" });
  return [svg("svg", { viewBox: "0 0 60 8", width: 60, height: 8, class: "bar-of", "aria-hidden": "true" },
    svg("rect", { width: 60, height: 8, class: "whole" }), full), " ", percent(fraction)];
}

// Nothing for a depth that has not changed: of 2,000 queues most are such.
function sparkline(history) {
  if (history.every((depth) => depth === history[0])) return "";
  const most = Math.max(1, ...history), step = 80 / 59;
  const start = 80 - (history.length - 1) * step;
  const points = history.map((depth, at) => `${(start + at * step).toFixed(1)},${(19 - 18 * depth / most).toFixed(1)}`);
  return svg("svg", { viewBox: "0 0 80 20", width: 80, height: 20, class: "spark", "aria-hidden": "true" },
    svg("polyline", { points: points.join(" ") }));
}

// A filter with an asterisk is generic as in MQSC; any other is part of a name.
function pattern(text) {
  const wanted = text.toUpperCase();
  if (!wanted.includes("*")) return (name) => name.toUpperCase().includes(wanted);
  const escaped = wanted.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  const expression = new RegExp(`^${escaped}$`);
  return (name) => expression.test(name.toUpperCase());
}
