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
/* Opacity of the far side of a sphere, relative to the near one. */
const FAR_SIDE = 0.2;
const ZOOM_STEP = 1.5;
/* What the lines of the background have in common. */
const OUTLINE = { type: "circle", layer: "below", opacity: 0.45 };

const view = {
  picture: Boolean(report.picture), // whether it is shown, and not the coordinates
  axes: report.picture ? PICTURE_AXES : [0, report.up],
  mode: false, // what dragging does
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
  view.mode = firstMode();
  const layout = { ...plotLayout(), dragmode: dragMode() };
  const config = { displayModeBar: false, responsive: true, doubleClick: false };
  ours(() => Plotly.newPlot(scatter, traces, layout, config).then(restyle).then(place));
  scatter.on("plotly_relayout", () => {
    if (!view.own) view.moved = true;
  });
  press();
}

function hoverText(i) {
  const lines = [nameOf(i), labelOf(i)].filter(Boolean).map((text) => plain(shorten(text)));
  return [`<b>Row ${report.rows[i]}</b>`, ...lines].join("<br>");
}

/* Both columns of the whole plot, as they are on the screen. */
function shownColumns() {
  return onSphere() ? turnedColumns() : view.axes.map((a) => view.shown[a]);
}

function coordinates(g, columns = shownColumns()) {
  const [x, y] = columns.map((column) => Float32Array.from(g.members, (i) => column[i]));
  return { x, y };
}

/* Lengths and angles mean something among components and in pictures, and only there. */
function isometric() {
  return view.picture || view.axes.every(isComponent);
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

/* Axes that hold all points, and the circle that a ring or sphere is; equal units on both where lengths mean something. */
function ranges() {
  const round = view.picture && ["ring", "sphere"].includes(report.picture.view);
  const [x, y] = shownColumns().map((column) => bounds(round ? [...column, -1, 1] : column));
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
    ...Object.fromEntries(["showgrid", "showticklabels", "zeroline"].map((name) => [name, !view.picture])),
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
    shapes: view.picture ? outlines() : [],
    annotations: view.picture ? notes() : [],
    coloraxis: colourAxis(muted),
    newselection: { line: { color: css("accent"), width: 2 } },
  };
}

/* The circles of a picture. */
function outlines() {
  if (onSphere()) return sphereLines();
  return report.picture.circles.map(({ radius: r }) => ({ ...OUTLINE, x0: -r, x1: r, y0: -r, y1: r, line: thinLine() }));
}

function thinLine() {
  return { color: css("muted"), width: 1 };
}

function notes() {
  if (onSphere()) return sphereNotes();
  return report.picture.circles.filter(({ label }) => label).map(({ radius, label }) => note(0, radius, label));
}

function note(x, y, text) {
  return { x, y, text, showarrow: false, bgcolor: css("card"), borderpad: 1, font: { size: 11, color: css("muted") } };
}

/* Colours, sizes and selection; again whenever one of them changes. */
function restyle() {
  const size = Math.max(3.5, Math.min(9, 9 - 2.2 * Math.log10(report.n / 150)));
  const card = css("card");
  const outline = report.n > MANY ? 0 : 0.7;
  const few = view.selected && view.selected.size <= FEW;
  const marker = (g) => ({
    size: g.symbol === "circle" ? size : 1.1 * size,
    symbol: g.symbol,
    opacity: opacities(g),
    line: { width: outline, color: card },
    ...paint(g),
  });
  return ours(() =>
    Plotly.update(scatter, {
      marker: groups.map(marker),
      selectedpoints: groups.map((g) => (view.selected ? places(g) : null)),
      "selected.marker": { opacity: 1, size: few ? 12 : size },
      "unselected.marker": { opacity: report.n > MANY ? 0.06 : 0.15 },
    }, { selections: [], coloraxis: colourAxis(css("muted")) }));
}

/* The far side of a sphere is faint. */
function opacities(g) {
  const full = report.n > MANY ? 0.75 : 0.9;
  return onSphere() ? Float32Array.from(g.members, (i) => (view.depth[i] < 0 ? FAR_SIDE * full : full)) : full;
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
  const columns = shownColumns();
  const both = groups.map((g) => coordinates(g, columns));
  const data = { x: both.map((c) => c.x), y: both.map((c) => c.y) };
  if (onSphere()) data["marker.opacity"] = groups.map(opacities);
  const background = onSphere() ? { shapes: outlines(), annotations: notes() } : {};
  return ours(() => Plotly.update(scatter, data, { ...(view.moved ? {} : ranges()), ...background }));
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
  return ours(() => Plotly.relayout(scatter, plotLayout())).then(restyle).then(place);
}

/* The picture, or the coordinates that the certificate is about. */
function showPicture(picture) {
  view.picture = picture;
  const selects = ["axis-x", "axis-y"].map((id) => document.getElementById(id));
  for (const label of document.querySelectorAll(".axis")) label.hidden = picture;
  document.getElementById("reading").hidden = picture;
  document.getElementById("reading-picture").hidden = !picture;
  for (const button of document.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", String((button.dataset.view === "picture") === picture));
  }
  /* A layout is that of the chosen fit. */
  if (picture && report.picture.view === "layout" && view.frame !== report.chosen) go(report.chosen);
  if (view.mode === "turn" || picture) setMode(firstMode());
  return setAxes(picture ? PICTURE_AXES : selects.map((select) => Number(select.value)));
}

function firstMode() {
  if (touch.matches) return false;
  return onSphere() ? "turn" : "zoom";
}

/* Turning is ours, and nothing that plotly.js knows of. */
function dragMode() {
  return view.mode === "turn" ? false : view.mode;
}

function setMode(mode) {
  view.mode = mode;
  press();
  return ours(() => Plotly.relayout(scatter, { dragmode: dragMode() }));
}

function press() {
  for (const button of document.querySelectorAll("[data-mode]")) {
    button.setAttribute("aria-pressed", String(button.dataset.mode === view.mode));
  }
  const turn = document.querySelector("[data-mode=turn]");
  turn.hidden = !onSphere();
  if (onSphere()) scatter.tabIndex = 0;
  else scatter.removeAttribute("tabindex");
  scatter.setAttribute("aria-label", onSphere() ? "Sphere of the embedding: arrow keys turn it" : "Scatter plot of the embedding");
  /* With nothing to drag, a finger on the map scrolls the page. */
  scatter.style.touchAction = view.mode ? "none" : "pan-y";
}
