// The stream of events: what has changed in the group since the last one.

let source = null;
const heard = new Map();
const last = new Map();
let told = () => {};

export function onState(callback) {
  told = callback;
}

// Calls back with the latest data of a topic now, if there are any, and with each that comes. Returns a function that
// ends that.
export function on(topic, callback) {
  if (!heard.has(topic)) heard.set(topic, new Set());
  heard.get(topic).add(callback);
  if (last.has(topic)) callback(last.get(topic));
  return () => heard.get(topic).delete(callback);
}

export function latest(topic) {
  return last.get(topic);
}

export function start() {
  stop();
  source = new EventSource("api/events");
  source.addEventListener("open", () => told("live"));
  source.addEventListener("error", () => told(source?.readyState === EventSource.CLOSED ? "closed" : "waiting"));
  for (const topic of ["group", "queues", "trouble"]) {
    source.addEventListener(topic, (event) => publish(topic, JSON.parse(event.data)));
  }
}

export function stop() {
  source?.close();
  source = null;
  last.clear();
}

function publish(topic, data) {
  const value = topic === "queues" ? merged(data) : data;
  if (!value) return;
  last.set(topic, value);
  for (const callback of heard.get(topic) || []) callback(value);
}

// Queues come once as a whole, and then those that have changed, in pieces. Depths are kept for the small curves.
const KEPT = 60;
let queues = new Map();

// Returns nothing before the last piece.
function merged({ rows, gone, whole, is_last: isLast }) {
  if (whole) queues = new Map();
  for (const key of gone) queues.delete(key);
  for (const each of rows) queues.set(each.key, { ...each, history: queues.get(each.key)?.history ?? [] });
  if (!isLast) return null;
  for (const each of queues.values()) {
    each.history.push(each.depth);
    if (each.history.length > KEPT) each.history.shift();
  }
  return { rows: queues };
}
