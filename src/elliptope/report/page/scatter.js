"use strict";

/* The map: what is drawn, how it moves, and where the view is. */

const scatter = document.getElementById("scatter");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const touch = matchMedia("(pointer: coarse)");

/* Points from which WebGL is faster than SVG; milliseconds that a move takes. */
const MANY = 500;
const MOVE_TIME = 500;
/* Selected points that are drawn larger, so as to be found. */
const FEW = 20;
/* Empty space around the points, relative to their extent; and the factor of one step of zoom. */
const MARGIN = 0.06;
const ZOOM_STEP = 1.5;

const view = {
  axes: [0, report.up],
  frame: report.chosen,
  shown: report.frames[report.chosen], // columns as they are on the screen, between two frames while points move
  moved: false, // whether the user has chosen the part of the plane that is shown
  own: 0, // changes to the plot that are under way and not the user's
  move: 0, // number of the latest move: an older one gives way to it
  selected: null, // set of rows, or null
};

function hasWebGL() {
  const canvas = document.createElement("canvas");
  return Boolean(canvas.getContext("webgl2") || canvas.getContext("webgl"));
}

function drawScatter() {
  const type = report.n > MANY && hasWebGL() ? "scattergl" : "scatter";
  const traces = groups.map((g) => ({
    type,
    mode: "markers",
    name: plain(g.name),
    text: g.members.map(hoverText),
    hovertemplate: "%{text}<extra></extra>",
    marker: {},
    ...coordinates(g),
  }));
  const layout = { ...plotLayout(), dragmode: touch.matches ? false : "zoom" };
  const config = { displayModeBar: false, responsive: true, doubleClick: false };
  ours(() => Plotly.newPlot(scatter, traces, layout, config).then(restyle).then(place));
  scatter.on("plotly_relayout", () => {
    if (!view.own) view.moved = true;
  });
  press(scatter.layout.dragmode);
}

function hoverText(i) {
  const lines = [nameOf(i), labelOf(i)].filter(Boolean).map((text) => plain(shorten(text)));
  return [`<b>Row ${report.rows[i]}</b>`, ...lines].join("<br>");
}

function coordinates(g) {
  const [x, y] = view.axes.map((a) => Float32Array.from(g.members, (i) => view.shown[a][i]));
  return { x, y };
}

/* Lengths and angles mean something among components, and only there. */
function isometric() {
  return view.axes.every(isComponent);
}

function bounds(column) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of column) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const space = MARGIN * (high - low) || 1;
  return [low - space, high + space];
}

/* Axes that hold all points; equal units on both where lengths mean something. */
function ranges() {
  const [x, y] = view.axes.map((a) => bounds(view.shown[a]));
  if (isometric()) {
    const { width, height } = plotSize();
    const unit = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height);
    widen(x, unit * width);
    widen(y, unit * height);
  }
  return { "xaxis.range": x, "yaxis.range": y };
}

function widen(range, length) {
  const space = (length - (range[1] - range[0])) / 2;
  range[0] -= space;
  range[1] += space;
}

function plotSize() {
  const size = scatter._fullLayout?._size;
  return size ? { width: size.w, height: size.h } : { width: scatter.clientWidth, height: scatter.clientHeight };
}

function plotLayout() {
  const [ink, muted, grid, line, card] = ["ink", "muted", "grid", "line", "card"].map(css);
  const axis = (a) => ({
    title: { text: axisName(a), standoff: 8, font: { size: 12, color: muted } },
    color: muted,
    gridcolor: grid,
    zerolinecolor: line,
    zerolinewidth: 2,
    tickfont: { size: 11 },
    nticks: 7,
  });
  return {
    autosize: true,
    margin: { l: 52, r: 12, t: 8, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, color: ink },
    hovermode: "closest",
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink, size: 13 }, align: "left" },
    showlegend: false,
    xaxis: axis(view.axes[0]),
    yaxis: { ...axis(view.axes[1]), scaleanchor: isometric() ? "x" : false },
    newselection: { line: { color: css("accent"), width: 2 } },
  };
}

/* Colours, sizes and selection; again whenever one of them changes. */
function restyle() {
  const size = Math.max(3.5, Math.min(9, 9 - 2.2 * Math.log10(report.n / 150)));
  const [card, muted] = [css("card"), css("muted")];
  const outline = report.n > MANY ? 0 : 0.7;
  const few = view.selected && view.selected.size <= FEW;
  const marker = (g) => ({
    size: g.symbol === "circle" ? size : 1.1 * size,
    symbol: g.symbol,
    opacity: report.n > MANY ? 0.75 : 0.9,
    line: { width: outline, color: card },
    ...(report.values ? scaleOf(muted) : { color: css(g.colour) }),
  });
  return ours(() =>
    Plotly.update(scatter, {
      marker: groups.map(marker),
      selectedpoints: groups.map((g) => (view.selected ? places(g) : null)),
      "selected.marker": { opacity: 1, size: few ? 12 : size },
      "unselected.marker": { opacity: report.n > MANY ? 0.06 : 0.15 },
    }, { selections: [] }));
}

function scaleOf(tickcolor) {
  const title = { text: plain(shorten(report.valuesName ?? "")), side: "right", font: { size: 12, color: tickcolor } };
  const colorbar = { thickness: 10, outlinewidth: 0, len: 0.7, tickfont: { size: 11, color: tickcolor }, title };
  return { color: report.values, colorscale: "Cividis", colorbar };
}

function places(g) {
  return g.members.flatMap((i, k) => (view.selected.has(i) ? [k] : []));
}

/* A change of the plot that is not the user's. */
async function ours(change) {
  view.own += 1;
  try {
    await change();
  } finally {
    view.own -= 1;
  }
}

function place() {
  const both = groups.map(coordinates);
  const data = { x: both.map((c) => c.x), y: both.map((c) => c.y) };
  return ours(() => Plotly.update(scatter, data, view.moved ? {} : ranges()));
}

/* Move the points to another bandwidth, by straight lines from wherever they are. */
async function moveTo(frame) {
  const from = view.shown;
  const to = report.frames[frame];
  const move = ++view.move;
  const start = performance.now();
  view.frame = frame;
  for (let t = 0; t < 1;) {
    t = calm.matches ? 1 : Math.min(1, (await nextFrame() - start) / MOVE_TIME);
    if (move !== view.move) return;
    view.shown = t < 1 ? between(from, to, t * t * (3 - 2 * t)) : to;
    await place();
  }
}

function between(from, to, t) {
  return to.map((column, a) => column.map((value, i) => from[a][i] + t * (value - from[a][i])));
}

function nextFrame() {
  return new Promise(requestAnimationFrame);
}

function resetView() {
  view.moved = false;
  return place();
}

function zoomBy(factor) {
  const change = {};
  for (const name of ["xaxis", "yaxis"]) {
    const range = [...scatter._fullLayout[name].range];
    widen(range, (range[1] - range[0]) * factor);
    change[`${name}.range`] = range;
  }
  view.moved = true;
  return ours(() => Plotly.relayout(scatter, change));
}

function setAxes(axes) {
  view.axes = axes;
  view.moved = false;
  return ours(() => Plotly.relayout(scatter, plotLayout())).then(place);
}

function setMode(mode) {
  const next = scatter.layout.dragmode === mode ? false : mode;
  press(next);
  return ours(() => Plotly.relayout(scatter, { dragmode: next }));
}

function press(mode) {
  for (const button of document.querySelectorAll("[data-mode]")) {
    button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  }
  /* With nothing to drag, a finger on the map scrolls the page. */
  scatter.style.touchAction = mode ? "none" : "pan-y";
}
