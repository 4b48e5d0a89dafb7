"use strict";

/* The data of the page: arrays unpacked, rows with their names, fields by which rows are coloured and compared. */

const report = unpack(JSON.parse(document.getElementById("data").textContent));

function unpack(raw) {
  const rows = numbers(raw.rows, Int32Array);
  const coordinates = numbers(raw.coordinates, Float32Array);
  const positions = raw.picture ? numbers(raw.picture.positions, Float32Array) : new Float32Array(0);
  const scores = numbers(raw.scores, Float32Array);
  const part = (array, k) => array.subarray(k * rows.length, (k + 1) * rows.length);
  return {
    ...raw,
    n: rows.length,
    rows,
    fields: raw.fields.map(unpackField),
    scores,
    /* The components, the outlier score, and the two columns of the picture, if there is one. */
    columns: [...raw.axes.map((_, a) => part(coordinates, a)), scores, ...[0, 1].map((a) => part(positions, a))],
  };
}

/* A field has `values`, which are days since 1970-01-01 where `dates` is true, or the `names` of classes and the `codes` of rows, -1 where there is none.
   `others` are the classes that share the last name, as such a field. */
function unpackField(field) {
  if (field.codes) return { ...field, codes: numbers(field.codes, Int32Array), others: field.others && unpackField(field.others) };
  return { ...field, values: numbers(field.values, Float32Array) };
}

function numbers(base64, Type) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k += 1) bytes[k] = text.charCodeAt(k);
  return new Type(bytes.buffer);
}

/* Name of axis a. The one after the components is the outlier score: there to look at outliers, and so that one component makes a
   plot, too. The last two are those of the picture. */
function axisName(a) {
  if (isComponent(a)) return report.axes[a];
  return a === report.axes.length ? "Outlier score" : pictureAxis(PICTURE_AXES.indexOf(a));
}

function pictureAxis(side) {
  const { view, columns, note } = report.picture;
  if (view === "layout") return side ? "" : note;
  return side ? axisName(columns[1]) : `${axisName(columns[0])} (${note})`;
}

const PICTURE_AXES = [report.axes.length + 1, report.axes.length + 2];

function isComponent(a) {
  return a < report.axes.length;
}

/* What is known of row i in a field, as text. */
function textOf(field, i) {
  if (!field.codes) return valueText(field, field.values[i]);
  return (field.others && textOf(field.others, i)) || (field.names[field.codes[i]] ?? "");
}

function valueText(field, value) {
  return field.dates ? dateText(value) : numberText(value);
}

function labelOf(i) {
  if (report.labels) return report.labels[i];
  return report.target === null ? "" : textOf(report.fields[report.target], i);
}

function allRows() {
  return Array.from({ length: report.n }, (_, i) => i);
}

function nameOf(i) {
  return report.names ? report.names[i] : "";
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/* Characters of a name that fit into a line. */
const LONG = 60;

function shorten(text) {
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

function countOf(number, noun) {
  return `${numberText(number)} ${noun}${number === 1 ? "" : "s"}`;
}

const SUPERSCRIPT = Object.fromEntries([..."-0123456789"].map((digit, k) => [digit, [..."⁻⁰¹²³⁴⁵⁶⁷⁸⁹"][k]]));

/* Four digits, and all those before the point: 0.1235, 12 346, −1.2 × 10⁻⁷; nothing for a missing value. As in numbers.py. */
function numberText(value) {
  if (!Number.isFinite(value)) return "";
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    const [mantissa, exponent] = size.toExponential(3).split("e");
    const power = [...exponent.replace("+", "")].map((c) => SUPERSCRIPT[c]).join("");
    return `${sign}${trimmed(mantissa)}\u00a0×\u00a010${power}`;
  }
  const digits = size === 0 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(size)));
  const [whole, rest] = trimmed(size.toFixed(digits)).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return `${sign}${grouped}${rest ? `.${rest}` : ""}`;
}

/* Three digits after the point, for a column of numbers of one kind. As in numbers.py. */
function fixedText(value) {
  const text = Math.abs(value).toFixed(3);
  return value < 0 && Number(text) ? `−${text}` : text;
}

/* The date of a number of days since 1970-01-01. As in numbers.py. */
function dateText(days) {
  return Number.isFinite(days) ? new Date(Math.floor(days) * 864e5).toISOString().slice(0, 10) : "";
}

/* A share as a percentage with one digit after the point. */
function percent(share) {
  return `${(100 * share).toFixed(1)}\u00a0%`;
}

/* The value at a part from 0 to 1 of sorted values. */
function quantile(sorted, part) {
  return sorted[Math.round(part * (sorted.length - 1))];
}
