// Makes elements. Text is only ever set as text: names, bodies and errors were written by others.

// Characters that nobody sees, or that change the direction of writing, are shown as escapes.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function visible(text) {
  return String(text).replace(UNSEEN, (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0"));
}

// h("button", {class: "small", onclick: f}, "Text", element, ...)
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) { element.addEventListener(name.slice(2), value); element.hasListener = true; }
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Shows *children* in place of what *element* has, and changes only what differs: a selection that somebody is about to
// copy stays.
export function redraw(element, ...children) {
  adapt(element, h("div", {}, children));
}

function adapt(old, made) {
  const wanted = [...made.childNodes];
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
  wanted.forEach((each, at) => {
    if (at === old.childNodes.length) old.append(each);
    else become(old.childNodes[at], each);
  });
}

function become(old, made) {
  if (old.nodeName !== made.nodeName || old.hasListener || made.hasListener) old.replaceWith(made);
  else if (made.nodeType === Node.TEXT_NODE) { if (old.data !== made.data) old.data = made.data; }
  else {
    for (const { name } of [...old.attributes]) if (!made.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of made.attributes) {
      // The policy of the page refuses a style as an attribute.
      if (name === "style") old.style.cssText = made.style.cssText;
      else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    adapt(old, made);
  }
}

export function table(headings, rows, options = {}) {
  return h("div", { class: "scroll" },
    h("table", { class: options.class },
      options.caption && h("caption", {}, options.caption),
      h("thead", {}, h("tr", {}, headings.map((each) =>
        h("th", { scope: "col", class: each.number ? "number" : undefined }, each.text ?? each)))),
      h("tbody", {}, rows)));
}

// A row whose cells name their column, which a narrow screen shows beside them.
export function row(headings, cells, attributes = {}) {
  return h("tr", attributes, cells.map((cell, at) => {
    const heading = headings[at];
    return h("td", { "data-label": heading.text ?? heading, class: heading.number ? "number" : undefined }, cell);
  }));
}

export function badge(state) {
  const good = ["RUNNING", "ENABLED", "ACTIVE", "RESOLVED", "PASSED"], bad = ["FAILED", "RETRY", "UNREACHABLE"];
  const kind = good.includes(state) ? "good" : bad.includes(state) ? "bad" : "neutral";
  return h("span", { class: `badge ${kind}` }, state);
}
