// The frame of the console: signing in, the menu, and which view is shown.
//
// A view is a module in views/ that exports `title`, and `show(element, context)`; one that not everybody may see also
// exports the least `role`. `context` has `me`, `parts` (what follows the view's name in the address), `can(role)`, and
// `whenLeft(callback)` for what must end with the view.

import { get, onSignedOut, post, useCsrf } from "./api.js";
import { h, replace } from "./dom.js";
import * as live from "./live.js";
import * as audit from "./views/audit.js";
import * as channels from "./views/channels.js";
import * as connections from "./views/connections.js";
import * as dead_letters from "./views/dead_letters.js";
import * as group from "./views/group.js";
import * as mqsc from "./views/mqsc.js";
import * as queue from "./views/queue.js";
import * as queues from "./views/queues.js";
import * as structures from "./views/structures.js";
import * as topics from "./views/topics.js";
import * as trace from "./views/trace.js";
import * as units from "./views/units.js";

const VIEWS = { group, queues, queue, trace, dead_letters, units, connections, structures, topics, channels, mqsc, audit };
const ROLES = ["viewer", "operator", "administrator"];
const main = document.getElementById("main");
const menu = document.getElementById("menu");
const notice = document.getElementById("notice");
let me = null;
let leave = [];

export function tell(text, isError = false) {
  replace(notice, text, " ", h("button", { class: "small", onclick: () => { notice.hidden = true; } }, "Close"));
  notice.className = isError ? "error" : "";
  notice.hidden = false;
}

function left() {
  for (const each of leave.splice(0)) each();
}

function show() {
  left();
  const [name, ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : group;
  document.title = `${view.title}, igq ${me.group}`;
  for (const link of menu.querySelectorAll("a")) {
    if (link.dataset.view === (Object.hasOwn(VIEWS, name) ? name : "group")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  notice.hidden = true;
  const element = replace(main, h("h1", {}, view.title)).appendChild(h("section"));
  const context = {
    me,
    parts,
    can,
    whenLeft: (callback) => leave.push(callback),
    tell,
  };
  Promise.resolve(view.show(element, context)).catch((error) => tell(error.message, true));
}

function can(role) {
  return ROLES.indexOf(me.role) >= ROLES.indexOf(role);
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function signedIn(user) {
  me = user;
  useCsrf(me.csrf);
  replace(menu, Object.entries(VIEWS).filter(([, view]) => !view.hidden && can(view.role ?? "viewer")).map(([name, view]) =>
    h("a", { href: `#/${name}`, "data-view": name }, view.menu || view.title)));
  menu.hidden = false;
  replace(document.getElementById("user"), `${me.user}, ${me.role} `,
    h("button", { class: "small", onclick: signOut }, "Sign out"));
  live.start();
  show();
}

function signedOut(text = "") {
  me = null;
  left();
  live.stop();
  menu.hidden = true;
  replace(document.getElementById("user"));
  replace(document.getElementById("live"));
  const user = h("input", { name: "user", autocomplete: "username", required: true, autocapitalize: "none" });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const problem = h("p", { class: "problem", role: "alert" }, text);
  const form = h("form", { class: "sign-in" }, h("h1", {}, "Sign in"),
    h("label", {}, "User", user), h("label", {}, "Password", password),
    h("button", { class: "primary" }, "Sign in"), problem);
  if (main.dataset.provider) {
    form.append(h("a", { class: "button", href: `oidc/start?next=${encodeURIComponent(location.hash)}` },
      `Sign in with ${main.dataset.provider}`));
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      signedIn(await post("/sign-in", { user: user.value, password: password.value }));
    } catch (error) {
      replace(problem, error.message);
      password.value = "";
      password.focus();
    } finally {
      button.disabled = false;
    }
  });
  replace(main, form);
  user.focus();
}

async function signOut() {
  try {
    const told = await post("/sign-out");
    if (told?.url) location.assign(told.url);
  } catch {
    // The session is over already.
  }
  signedOut();
}

live.onState((state) => {
  const texts = { live: "live", waiting: "waiting for the server", closed: "signed out" };
  const shown = document.getElementById("live");
  replace(shown, texts[state]);
  shown.className = `live ${state}`;
  if (state === "closed" && me) {
    // A stream that is refused says no more than that: the session is over, or the server is.
    get("/me").catch(() => {});
    setTimeout(() => { if (me) live.start(); }, 3000);
  }
});
live.on("trouble", ({ text }) => { if (text) tell(`The group cannot be read: ${text}`, true); else notice.hidden = true; });
onSignedOut(() => { if (me) signedOut("The session is over."); });
window.addEventListener("hashchange", () => { if (me) { show(); main.focus(); } });
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select");
  if (event.key === "/" && !isTyping) {
    const filter = main.querySelector("input[type=search]");
    if (filter) { event.preventDefault(); filter.focus(); }
  }
});
get("/me").then(signedIn, () => signedOut());
