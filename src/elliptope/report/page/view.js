"use strict";

/* The state of the map, and where it puts the rows. */

document.documentElement.classList.toggle("framed", parent !== window);
const scatter = document.getElementById("scatter");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const touch = matchMedia("(pointer: coarse)");

/* Empty space around the points, relative to their extent; the factor of one step of zoom. */
const MARGIN = 0.06;
const ZOOM_STEP = 1.5;
/* Rows beyond this many times the extent of most rows are drawn at the edge; the quantiles between which most rows are; values
   that quantiles are taken from. */
const REACH = 2;
const MOST = [0.02, 0.98];
const SAMPLE = 5000;
/* Space for the numbers and names of the axes, in pixels. */
const AROUND = { left: 52, right: 12, top: 8, bottom: 44 };

const view = {
  picture: Boolean(report.picture), // whether it is shown, and not the coordinates
  axes: report.picture ? PICTURE_AXES : [0, report.up],
  mode: null, // what dragging does
  range: null, // { x, y }: the part of the plane that is shown
  moved: false, // whether the user has chosen it
  box: null, // { left, top, width, height } of that part on the screen
  at: [new Float32Array(report.n), new Float32Array(report.n)], // pixels of all rows
  beyond: 0, // rows that are drawn at the edge
  pending: false, // whether the map will be drawn anew
  colour: null, // a field
  hidden: new Set(), // styles that are not shown
  selected: null, // rows in ascending order, or null
  isSelected: new Uint8Array(report.n), // 1 for these rows
};

/* Lengths and angles mean something among components and in pictures, and only there. */
function isometric() {
  return view.picture || view.axes.every(isComponent);
}

/* The range of a column, without the few values that would squash the others. */
function bounds(column) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of column) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const step = Math.ceil(column.length / SAMPLE);
  const sorted = Float32Array.from({ length: Math.floor(column.length / step) }, (_, k) => column[k * step]).sort();
  const [first, last] = MOST.map((part) => quantile(sorted, part));
  if (!view.picture && last > first) {
    low = Math.max(low, first - REACH * (last - first));
    high = Math.min(high, last + REACH * (last - first));
  }
  const space = MARGIN * (high - low) || 1;
  return [low - space, high + space];
}

/* The part of the plane with the points in it, and the circle that a ring is. */
function wholeRange(columns) {
  const [x, y] = columns.map(bounds);
  for (const range of view.picture && report.picture.view === "ring" ? [x, y] : []) {
    range[0] = Math.min(range[0], -1 - MARGIN);
    range[1] = Math.max(range[1], 1 + MARGIN);
  }
  return equalUnits({ x, y });
}

/* Equal units on both axes where lengths mean something. */
function equalUnits({ x, y }) {
  if (!isometric()) return { x, y };
  const { width, height } = view.box;
  const unit = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height);
  return { x: widened(x, unit * width), y: widened(y, unit * height) };
}

function widened([low, high], length) {
  const space = (length - (high - low)) / 2;
  return [low - space, high + space];
}

/* Range and pixels of all rows. Where the user has not chosen the range, rows beyond it are put at the edge. */
function locate() {
  const [width, height] = [scatter.clientWidth, scatter.clientHeight];
  view.box = { left: AROUND.left, top: AROUND.top, width: width - AROUND.left - AROUND.right, height: height - AROUND.top - AROUND.bottom };
  const columns = view.axes.map((a) => report.columns[a]);
  if (!view.moved) view.range = wholeRange(columns);
  else view.range = equalUnits(view.range);
  const { box } = view;
  const scaleX = box.width / (view.range.x[1] - view.range.x[0]);
  const scaleY = box.height / (view.range.y[1] - view.range.y[0]);
  const [X, Y] = view.at;
  const [right, bottom] = [box.left + box.width, box.top + box.height];
  view.beyond = 0;
  for (let i = 0; i < report.n; i += 1) {
    const x = box.left + (columns[0][i] - view.range.x[0]) * scaleX;
    const y = bottom - (columns[1][i] - view.range.y[0]) * scaleY;
    X[i] = view.moved ? x : Math.min(right, Math.max(box.left, x));
    Y[i] = view.moved ? y : Math.min(bottom, Math.max(box.top, y));
    if (!view.moved && (X[i] !== Math.fround(x) || Y[i] !== Math.fround(y))) view.beyond += 1;
  }
}

/* Pixels of a place of the plane, and the other way round. */
function toPixels(x, y) {
  const { box, range } = view;
  return [
    box.left + ((x - range.x[0]) / (range.x[1] - range.x[0])) * box.width,
    box.top + ((range.y[1] - y) / (range.y[1] - range.y[0])) * box.height,
  ];
}

function toPlane(left, top) {
  const { box, range } = view;
  return [
    range.x[0] + ((left - box.left) / box.width) * (range.x[1] - range.x[0]),
    range.y[1] - ((top - box.top) / box.height) * (range.y[1] - range.y[0]),
  ];
}

function inBox(i) {
  const { left, top, width, height } = view.box;
  const [x, y] = [view.at[0][i], view.at[1][i]];
  return x >= left && x <= left + width && y >= top && y <= top + height;
}

/* Whether row i is drawn. */
function isVisible(i) {
  return !view.hidden.has(paint().of[i]) && inBox(i);
}

/* Draw the map before the next picture of the screen, once for whatever has changed until then. */
function redraw() {
  if (view.pending) return;
  view.pending = true;
  requestAnimationFrame(() => {
    drawMap();
    view.pending = false;
  });
}

function drawMap() {
  locate();
  document.getElementById("frame").innerHTML = frameMarkup();
  drawPoints();
  sayWhatIsDrawn();
}

function resetView() {
  view.moved = false;
  redraw();
}

function setRange(range) {
  view.range = equalUnits(range);
  view.moved = true;
  redraw();
}

/* Zoom around a place of the plane, the centre unless told. */
function zoomBy(factor, centre = null) {
  const { x, y } = view.range;
  const [cx, cy] = centre ?? [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2];
  setRange({ x: x.map((value) => cx + (value - cx) * factor), y: y.map((value) => cy + (value - cy) * factor) });
}

function setAxes(axes) {
  view.axes = axes;
  resetView();
}

/* The picture, or the coordinates that the certificate is about. */
function showPicture(picture) {
  view.picture = picture;
  const selects = ["axis-x", "axis-y"].map((id) => document.getElementById(id));
  for (const label of document.querySelectorAll(".axis")) label.hidden = picture;
  document.getElementById("reading").hidden = picture;
  document.getElementById("reading-picture").hidden = !picture;
  for (const button of document.querySelectorAll("[data-view]")) {
    button.ariaPressed = String((button.dataset.view === "picture") === picture);
  }
  setAxes(picture ? PICTURE_AXES : selects.map((select) => Number(select.value)));
}
