"use strict";

/* Rows on a sphere, seen from far away, and turned by hand. */

/* Radians of one press of an arrow key; points of a circle. */
const KEY_TURN = 0.15;
const CIRCLE_POINTS = 64;

/* Rows of this matrix: to the right, up, and towards the eye, in the coordinates of the picture's columns. */
view.turn = [[0, 1, 0], [0, 0, 1], [1, 0, 0]];

function onSphere() {
  return view.picture && report.picture.view === "sphere";
}

/* To the right, up; and, as view.depth, towards the eye. Directions only: other fits may have rows of other lengths. */
function turnedColumns() {
  const own = report.picture.columns.map((a) => view.shown[a]);
  const out = view.turn.map(() => new Float32Array(report.n));
  for (let i = 0; i < report.n; i += 1) {
    const point = own.map((column) => column[i]);
    const length = Math.hypot(...point) || 1;
    view.turn.forEach((row, a) => { out[a][i] = dot(row, point) / length; });
  }
  view.depth = out[2];
  return out.slice(0, 2);
}

function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The outline, the near half of the circles in which two coordinates change and the third is 0, and the near end of every
   axis: +2 where component 2 is positive and the others are 0. */
function sphereLines() {
  const halves = [0, 1, 2].map((a) => `<path d="${nearHalf(a)}" fill="none" stroke="${css("muted")}" stroke-opacity="0.45"/>`);
  const ends = report.picture.columns.map((column, a) => {
    const sign = view.turn[2][a] < 0 ? -1 : 1;
    return note(sign * view.turn[0][a], sign * view.turn[1][a], `${sign < 0 ? "−" : "+"}${column + 1}`);
  });
  return [circle(1, 1.5), ...halves, ...ends].join("");
}

function nearHalf(a) {
  const [b, c] = [(a + 1) % 3, (a + 2) % 3];
  let path = "";
  let drawing = false;
  for (let k = 0; k <= 2 * CIRCLE_POINTS; k += 1) {
    const t = (2 * Math.PI * k) / CIRCLE_POINTS;
    const [x, y, near] = view.turn.map((row) => row[b] * Math.cos(t) + row[c] * Math.sin(t));
    if (near >= 0) path += `${drawing ? "L" : "M"}${toPixels(x, y).map((value) => value.toFixed(1))}`;
    drawing = near >= 0;
  }
  return path;
}

/* Turn by radians to the right and upwards. */
function turnBy(right, up) {
  const [x, y, z] = view.turn;
  const mix = (p, q, t) => p.map((value, k) => Math.cos(t) * value + Math.sin(t) * q[k]);
  const [across, towards] = [mix(x, z, right), mix(z, x, -right)];
  view.turn = [across, mix(y, towards, up), mix(towards, y, -up)];
  redraw();
}

function wireSphere() {
  scatter.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step || !onSphere()) return;
    event.preventDefault();
    turnBy(KEY_TURN * step[0], KEY_TURN * step[1]);
  });
}
