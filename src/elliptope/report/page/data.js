"use strict";

/* The data of the page: arrays unpacked, rows with their names, groups of rows with their colours. */

const report = unpack(JSON.parse(document.getElementById("data").textContent));

function unpack(raw) {
  const { frames, rows, axes } = raw.size;
  const positions = numbers(raw.frames, Float32Array);
  const scores = numbers(raw.scores, Float32Array);
  const picture = raw.picture?.frames ? numbers(raw.picture.frames, Float32Array) : new Float32Array(2 * rows);
  /* A layout is that of one fit. */
  const drawn = (f) => (picture.length > 2 * rows ? f : 0);
  return {
    ...raw,
    n: rows,
    rows: numbers(raw.rows, Int32Array),
    scores,
    values: raw.values && numbers(raw.values, Float32Array),
    classes: raw.classes && { ...raw.classes, codes: numbers(raw.classes.codes, Int32Array) },
    columns: raw.columns.map((column) => ({ ...column, steps: numbers(column.steps, Uint8Array) })),
    /* Frame f is a list of columns: the components, then the density, which is the same at every bandwidth, then the two of
       the picture, if there is one. */
    frames: Array.from({ length: frames }, (_, f) => [
      ...Array.from({ length: axes }, (_, a) => positions.subarray((f * axes + a) * rows, (f * axes + a + 1) * rows)),
      scores,
      ...[0, 1].map((a) => picture.subarray((2 * drawn(f) + a) * rows, (2 * drawn(f) + a + 1) * rows)),
    ]),
  };
}

function numbers(base64, Type) {
  return new Type(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
}

/* Name of axis a. The one after the components is the density: there to look at outliers, and so that one component makes a
   plot, too. The last two are those of the picture. */
function axisName(a) {
  if (isComponent(a)) return report.axes[a];
  return a === report.size.axes ? "Log density" : pictureAxis(a - report.size.axes - 1);
}

function pictureAxis(side) {
  const { view, columns, note } = report.picture;
  if (view === "layout") return side ? "" : note;
  if (view === "sphere") return "";
  return side ? axisName(columns[1]) : `${axisName(columns[0])} (${note})`;
}

const PICTURE_AXES = [report.size.axes + 1, report.size.axes + 2];

function isComponent(a) {
  return a < report.size.axes;
}

function labelOf(i) {
  if (report.labels) return report.labels[i];
  if (report.classes) return report.classes.names[report.classes.codes[i]] ?? "";
  if (report.values) return Number.isNaN(report.values[i]) ? "" : String(Number(report.values[i].toPrecision(6)));
  return "";
}

function nameOf(i) {
  return report.names ? report.names[i] : "";
}

/* Colours that most people can tell apart (Okabe and Ito; the last three are Tol's), and symbols for those who cannot: 30 pairs
   come before one repeats. Paths are drawn in a square from -1 to 1, as plotly.js draws them. */
const COLOURS = ["blue", "orange", "green", "vermilion", "purple", "sky", "grey", "wine", "olive", "indigo"];
const SYMBOLS = [
  ["circle", "M1,0A1,1 0 1,1 0,-1A1,1 0 0,1 1,0Z"],
  ["square", "M.85,.85H-.85V-.85H.85Z"],
  ["triangle-up", "M-1.1,.6H1.1L0,-1.1Z"],
  ["diamond", "M1.1,0L0,1.1L-1.1,0L0,-1.1Z"],
  ["triangle-down", "M-1.1,-.6H1.1L0,1.1Z"],
  ["cross", "M1.1,.4H.4V1.1H-.4V.4H-1.1V-.4H-.4V-1.1H.4V-.4H1.1Z"],
];

/* Characters of a name that fit into a hover box. */
const LONG = 60;

/* Groups of rows that are drawn alike: { name, members, colour, symbol, path }. Classes that share a group, and rows without
   a label, come last, in grey. */
const groups = makeGroups();

function makeGroups() {
  const all = Array.from({ length: report.n }, (_, i) => i);
  if (!report.classes) return [group("", all, 0)];
  const { names, codes, rest } = report.classes;
  const members = names.map(() => []);
  const unlabelled = [];
  for (const i of all) (codes[i] >= 0 ? members[codes[i]] : unlabelled).push(i);
  const made = names.map((name, k) => group(name, members[k], k));
  if (rest) made.at(-1).colour = "grey";
  if (unlabelled.length) made.push({ ...group("no label", unlabelled, 0), colour: "grey" });
  return made;
}

function group(name, members, k) {
  const [symbol, path] = SYMBOLS[k % SYMBOLS.length];
  return { name, members, colour: COLOURS[k % COLOURS.length], symbol, path };
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function shorten(text) {
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

/* plotly.js reads a little HTML in its texts; here all of it is text. */
function plain(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
