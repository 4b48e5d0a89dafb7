"use strict";

/* What the pointer does on the map: hover, zoom, pan, lasso; and a press on a point, which selects it. */

const tip = document.getElementById("tip");
const drawing = document.getElementById("drawing");
/* Pixels within which the pointer is on a point; and that it may move in a press without dragging. */
const NEAR = 14;
const STILL = 4;
/* Fields that the hover box shows beside name and label. */
const hovered = new Set();

function setMode(mode) {
  view.mode = mode;
  for (const button of document.querySelectorAll("[data-mode]")) button.ariaPressed = String(button.dataset.mode === mode);
  /* With nothing to drag, a finger on the map scrolls the page. */
  scatter.style.touchAction = mode ? "none" : "pan-y";
  scatter.style.cursor = { zoom: "crosshair", lasso: "crosshair", pan: "grab" }[mode] ?? "default";
}

function placeOf(event) {
  const { left, top } = scatter.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

/* The row under the pointer, or -1. */
function rowAt([x, y]) {
  const [X, Y] = view.at;
  let [row, least] = [-1, NEAR ** 2];
  for (let i = 0; i < report.n; i += 1) {
    const distance = (X[i] - x) ** 2 + (Y[i] - y) ** 2;
    if (distance < least && isVisible(i)) [row, least] = [i, distance];
  }
  return row;
}

/* Number, name, label and the chosen fields of a row, each with its title; and how many others are drawn at its place. */
function tipLines(i) {
  const label = labelOf(i);
  const lines = [["", `Row ${report.rows[i]}`]];
  if (nameOf(i)) lines.push(["", nameOf(i)]);
  if (label) lines.push([report.labels ? "" : report.fields[report.target].name, label]);
  const wanted = fields.filter((field) => hovered.has(field) || field === view.colour);
  for (const field of wanted) {
    if (field !== report.fields[report.target] || report.labels) lines.push([field.name, textOf(field, i)]);
  }
  const [X, Y] = view.at;
  const others = allRows().filter((k) => k !== i && X[k] === X[i] && Y[k] === Y[i]).length;
  if (others) lines.push(["", `${countOf(others, "more row")} at this place`]);
  return lines;
}

function showTip(i) {
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.replaceChildren(...tipLines(i).map(([name, text], k) => {
    const entry = element("div", { className: k ? "" : "first" });
    if (name) entry.append(element("span", { className: "field", textContent: shorten(name) }), " ");
    entry.append(shorten(text));
    return entry;
  }));
  const [x, y] = [view.at[0][i], view.at[1][i]];
  const left = x + tip.offsetWidth + 14 > scatter.clientWidth ? x - tip.offsetWidth - 12 : x + 12;
  const top = Math.min(Math.max(0, y - tip.offsetHeight / 2), scatter.clientHeight - tip.offsetHeight);
  tip.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, top)}px)`;
}

/* What dragging in a mode does, given all places of the pointer so far; `done` at its end. */
const DRAGS = {
  zoom(places, done) {
    const [[x0, y0], [x1, y1]] = [places[0], places.at(-1)];
    const corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
    outline(done ? [] : corners);
    if (!done) return;
    const [a, b] = [toPlane(x0, y0), toPlane(x1, y1)];
    const sorted = (k) => [a[k], b[k]].sort((p, q) => p - q);
    setRange({ x: sorted(0), y: sorted(1) });
  },
  lasso(places, done) {
    outline(done ? [] : places);
    if (done) select(rowsWithin(places));
  },
  pan(places, done) {
    if (done) return;
    const [a, b] = [toPlane(...places.at(-2)), toPlane(...places.at(-1))];
    const { x, y } = view.range;
    setRange({ x: x.map((value) => value + a[0] - b[0]), y: y.map((value) => value + a[1] - b[1]) });
  },
};

function outline(places) {
  const points = places.map((place) => place.join(",")).join(" ");
  drawing.innerHTML = places.length ? `<polygon points="${points}"/>` : "";
}

/* Rows that are drawn inside of a polygon. */
function rowsWithin(polygon) {
  const [X, Y] = view.at;
  const [across, down] = [0, 1].map((side) => Float32Array.from(polygon, (corner) => corner[side]));
  return allRows().filter((i) => isInside(X[i], Y[i], across, down) && isVisible(i));
}

/* Whether a ray to the right crosses the polygon an odd number of times. */
function isInside(x, y, across, down) {
  let inside = false;
  for (let k = 0, last = across.length - 1; k < across.length; last = k, k += 1) {
    if (down[k] > y === down[last] > y) continue;
    const crossing = across[last] + ((y - down[last]) / (down[k] - down[last])) * (across[k] - across[last]);
    if (x < crossing) inside = !inside;
  }
  return inside;
}

function wirePointer() {
  let places = null;
  scatter.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    places = [placeOf(event)];
    if (view.mode) scatter.setPointerCapture(event.pointerId);
  });
  scatter.addEventListener("pointermove", (event) => {
    if (!places) return showTip(rowAt(placeOf(event)));
    if (!view.mode) return undefined;
    showTip(-1);
    places.push(placeOf(event));
    return isDrag(places) && DRAGS[view.mode](places, false);
  });
  scatter.addEventListener("pointerup", (event) => {
    const made = places;
    places = null;
    if (!made) return;
    if (view.mode && isDrag(made)) DRAGS[view.mode](made, true);
    else press(rowAt(placeOf(event)), event.shiftKey);
  });
  scatter.addEventListener("pointercancel", () => {
    places = null;
    outline([]);
  });
  scatter.addEventListener("pointerleave", () => showTip(-1));
  scatter.addEventListener("dblclick", () => (view.mode === "lasso" ? select([]) : resetView()));
  scatter.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    zoomBy(event.deltaY > 0 ? ZOOM_STEP : 1 / ZOOM_STEP, toPlane(...placeOf(event)));
  }, { passive: false });
  for (const button of document.querySelectorAll("[data-mode]")) {
    button.addEventListener("click", () => setMode(view.mode === button.dataset.mode ? null : button.dataset.mode));
  }
}

function isDrag(places) {
  return places.some(([x, y]) => Math.hypot(x - places[0][0], y - places[0][1]) > STILL);
}

/* A press on a row selects it; with the shift key, it is added to the selection or taken from it. */
function press(row, more) {
  if (row < 0) return;
  showTip(row);
  const chosen = new Set(more && view.selected ? view.selected : []);
  if (!chosen.delete(row)) chosen.add(row);
  select(chosen);
}

/* Boxes to tick, one for every field. */
function wireHover() {
  const list = document.getElementById("hover-fields");
  for (const field of fields) {
    const box = element("input", { type: "checkbox" });
    box.addEventListener("change", () => (box.checked ? hovered.add(field) : hovered.delete(field)));
    const item = element("label");
    item.append(box, ` ${shorten(field.name)}`);
    list.append(item);
  }
}
