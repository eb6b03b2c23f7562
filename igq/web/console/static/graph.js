// A graph of one figure over the last hour.

import { h, svg } from "./dom.js";

const WIDTH = 360, HEIGHT = 70, HOUR_MS = 3600000;

// `points`: pairs of a time in ms and a number, by time.
export function graph(name, points) {
  const values = points.map(([, value]) => value), most = Math.max(1, ...values), end = points.at(-1)?.[0] ?? 0;
  const place = ([at, value]) =>
    `${(WIDTH - WIDTH * (end - at) / HOUR_MS).toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 6) * value / most).toFixed(1)}`;
  const told = points.length ? `${name}, last hour: least ${Math.min(...values)}, most ${Math.max(...values)}, now ${values.at(-1)}` : `${name}: not known`;
  return h("figure", {}, h("figcaption", {}, told),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told, class: "graph", preserveAspectRatio: "none" },
      svg("polyline", { points: points.map(place).join(" ") })));
}
