// Topics and subscriptions.

import * as actions from "../actions.js";
import { get } from "../api.js";
import { h, redraw, replace, row, table } from "../dom.js";

export const title = "Topics";

const number = (text) => ({ text, number: true });
const TOPICS = ["Topic", "Topic string", "Publish", "Subscribe", number("Subscriptions"), number("Publishers")];
const SUBSCRIPTIONS = ["Subscription", "Topic string", "Queue", "Kind", "User", "Open by", number("Publications"), "Latest"];

export async function show(element, context) {
  const ofTopic = actions.of(context, "topic").length > 0, ofSubscription = actions.of(context, "subscription").length > 0;
  const search = h("input", { type: "search", placeholder: "Filter: part of a name or topic string", "aria-label": "Filter" });
  const topics = h("div"), subscriptions = h("div"), more = h("p", { class: "muted" });
  let found = { topics: [], subscriptions: [] };
  replace(element, h("div", { class: "bar" }, search, h("button", { onclick: readAgain }, "Read again"), actions.buttons(context, "topics", {}, "")),
    h("h2", {}, "Topics"), topics, h("h2", {}, "Subscriptions"), subscriptions, more);
  search.addEventListener("input", draw);
  actions.listen(element, context, readAgain);

  async function read() {
    found = await get("/topics");
    draw();
  }

  function readAgain() {
    return read().catch((error) => context.tell(error.message, true));
  }

  function draw() {
    const wanted = search.value.trim().toUpperCase();
    const fits = (each) => `${each.name}\n${each.topic_string}`.toUpperCase().includes(wanted);
    fill(topics, headings(TOPICS, ofTopic), found.topics.filter(fits).map(topic), "There is no such topic.");
    fill(subscriptions, headings(SUBSCRIPTIONS, ofSubscription), found.subscriptions.filter(fits).map(subscription), "There is no such subscription.");
    replace(more, found.is_cut ? "There are more." : "");
  }

  function topic(each) {
    const cells = [named(each.name, each.description), each.topic_string, each.publish, each.subscribe, each.subscribers, each.publishers];
    if (ofTopic) cells.push(actions.buttons(context, "topic", { name: each.name }, each.name, (name) => name !== "clear-retained" || each.topic_string));
    return row(headings(TOPICS, ofTopic), cells);
  }

  function subscription(each) {
    const cells = [named(each.name || each.number, each.selector), each.topic_string, `${each.destination} at ${each.destination_q_mgr}`,
      `${each.kind}${each.durable === "YES" ? ", durable" : ""}`, each.user, each.holder, each.publications, each.last_at];
    if (ofSubscription) cells.push(actions.buttons(context, "subscription", { number: each.number }, each.name || each.number));
    return row(headings(SUBSCRIPTIONS, ofSubscription), cells);
  }

  await read();
}

function headings(own, isAllowed) {
  return isAllowed ? [...own, "Commands"] : own;
}

function named(name, about) {
  return h("span", {}, name, " ", h("small", { class: "muted" }, about));
}

function fill(place, own, rows, none) {
  redraw(place, rows.length ? table(own, rows, { class: "cards" }) : h("p", {}, none));
}
