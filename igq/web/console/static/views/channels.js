// Channels and listeners: how they stand, and the clients that have come by them.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { badge, h, redraw, replace, row, table } from "../dom.js";

export const title = "Channels";

const number = (text) => ({ text, number: true });
const LISTENERS = ["Listener", number("Port"), "Starts", "At managers"];
const CHANNELS = ["Channel", "Clients act as", "State", number("Clients"), number("So far"), number("Calls"), number("Bytes in"), number("Bytes out"), number("Waiting gets")];
const CLIENTS = ["Channel", "Manager", "Program", "User", "Address", number("Calls"), number("Bytes in"), number("Bytes out")];
const STARTS = { QMGR: "with its manager", STARTONLY: "with its manager", MANUAL: "by a command" };
const PERIOD_MS = 5000;

export async function show(element, context) {
  const listeners = h("div"), channels = h("div"), clients = h("div");
  replace(element, h("h2", {}, "Listeners"), listeners, h("h2", {}, "Server-connection channels"), channels,
    h("h2", {}, "Clients"), clients);
  let hasLeft = false;
  const isAllowed = actions.of(context, "channel").length > 0;
  actions.listen(element, context, () => read().catch((error) => context.tell(error.message, true)));

  async function read() {
    const found = await get("/channels");
    if (hasLeft) return;
    fill(listeners, LISTENERS, "listener", found.listeners, listener, "There is no listener.");
    fill(channels, CHANNELS, "channel", found.channels, channel, "There is no channel.");
    fill(clients, CLIENTS, "", found.clients, client, "No client has come by a channel.");
    if (found.is_cut) clients.append(h("p", { class: "muted" }, "There are more."));
  }

  function fill(place, own, on, found, cells, none) {
    const hasCommands = isAllowed && on, headings = hasCommands ? [...own, "Commands"] : own;
    const rows = found.map((each) => row(headings, [...cells(each), ...(hasCommands ? [actions.buttons(context, on, { name: each.name }, each.name)] : [])]));
    redraw(place, rows.length ? table(headings, rows, { class: "cards" }) : h("p", {}, none));
  }

  const timer = setInterval(() => { read().catch(() => {}); }, PERIOD_MS);
  context.whenLeft(() => { hasLeft = true; clearInterval(timer); });
  await read();
}

function named(each) {
  return h("span", {}, each.name, " ", h("small", { class: "muted" }, each.description));
}

function listener(each) {
  const at = each.at.flatMap((one) => [`${one.qmgr}: `, badge(one.state), " ",
    one.state === "RUNNING" ? `${one.address}(${one.port}) since ${one.since}` : one.error, h("br")]);
  return [named(each), each.port, STARTS[each.control], at.length ? h("span", {}, ...at) : "not started"];
}

function channel(each) {
  return [named(each), each.user || "nobody by TCP", each.stopped_at.length ? `stopped at ${each.stopped_at.join(", ")}` : "open",
    each.current, each.clients, each.calls, each.received, each.sent, each.waiting];
}

function client(each) {
  return [each.channel, each.qmgr, each.program, each.user, each.address, each.calls, each.received, each.sent];
}
