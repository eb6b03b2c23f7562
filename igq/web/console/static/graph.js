// Graphs of figures over the last hour, six hours or day, and the choice between these.

import { get } from "./api.js";
import { h, svg } from "./dom.js";

const WIDTH = 360, HEIGHT = 70;
// Span -> its words, and its hours.
const SPANS = { hour: ["last hour", 1], "six-hours": ["last six hours", 6], day: ["last day", 24] };
let span = "hour";

// `points`: pairs of a time in ms and a number, by time. `told`: makes words of a number.
export function graph(name, points, told = String) {
  const [words, hours] = SPANS[span];
  const values = points.map(([, value]) => value), most = Math.max(1, ...values), end = points.at(-1)?.[0] ?? 0;
  const place = ([at, value]) =>
    `${(WIDTH - WIDTH * (end - at) / (hours * 3600000)).toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 6) * value / most).toFixed(1)}`;
  const text = points.length
    ? `${name}, ${words}: least ${told(Math.min(...values))}, most ${told(Math.max(...values))}, now ${told(values.at(-1))}` : `${name}: not known`;
  return h("figure", {}, h("figcaption", {}, text),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text, class: "graph", preserveAspectRatio: "none" },
      svg("polyline", { points: points.map(place).join(" ") })));
}

// Shows what the server says at `path` of the chosen span: now, each minute and when another one is chosen, until the
// view is left. Returns the choice.
export function spanChoice(context, path, parameters, show) {
  const read = async () => {
    const asked = span, found = await get(path, { ...parameters, span });
    if (asked === span) show(found);
  };
  const again = () => read().catch((error) => context.tell(error.message, true));
  const choice = h("select", { "aria-label": "Graphs of", onchange: () => { span = choice.value; again(); } },
    Object.entries(SPANS).map(([name, [words]]) => h("option", { value: name, selected: name === span }, words)));
  const timer = setInterval(() => read().catch(() => {}), 60000);
  context.whenLeft(() => clearInterval(timer));
  again();
  return choice;
}
