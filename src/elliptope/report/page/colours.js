"use strict";

/* What the points are coloured by: a field of the data or the outlier score; and the legend, which has its name. */

const colourSelect = document.getElementById("colour");
const legend = document.getElementById("legend");
/* Colours that most people can tell apart (Okabe and Ito; the last three are Tol's), and symbols for those who cannot: 30 pairs
   come before one repeats. Paths are drawn in a square from -1 to 1. */
const COLOURS = ["blue", "orange", "green", "vermilion", "purple", "sky", "grey", "wine", "olive", "indigo"];
const SYMBOLS = [
  "M1,0A1,1 0 1,1 0,-1A1,1 0 0,1 1,0Z",
  "M.85,.85H-.85V-.85H.85Z",
  "M-1.1,.6H1.1L0,-1.1Z",
  "M1.1,0L0,1.1L-1.1,0L0,-1.1Z",
  "M-1.1,-.6H1.1L0,1.1Z",
  "M1.1,.4H.4V1.1H-.4V.4H-1.1V-.4H-.4V-1.1H.4V-.4H1.1Z",
];
/* Cividis, which people see alike whatever colours they can tell apart; the part of it that stands out from a light and from a
   dark background. */
const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
const [ON_LIGHT, ON_DARK] = [[0, 0.92], [0.3, 1]];
/* Steps of colour; the quantiles at which they end, so that a single value does not use them up. */
const STEPS = 64;
const ENDS = [0.01, 0.99];
const dark = matchMedia("(prefers-color-scheme: dark)");

const fields = [...report.fields, { name: "Outlier score", values: report.scores }];

/* { styles, of }: row i is drawn in the style of number of[i]; a style is { name, colour, path }; one whose name is null is no
   entry of the legend. Made anew when null. */
let painted = null;

function paint() {
  if (!painted) painted = !view.colour ? plainPaint() : view.colour.codes ? classPaint(view.colour) : valuePaint(view.colour);
  return painted;
}

function plainPaint() {
  return { styles: [{ name: "", colour: css("blue"), path: SYMBOLS[0] }], of: new Uint8Array(report.n) };
}

/* Classes that share a style, and rows without a class, come last, in grey. */
function classPaint({ names, codes, rest }) {
  const styles = names.map((name, k) => ({ name, colour: css(COLOURS[k % COLOURS.length]), path: SYMBOLS[k % SYMBOLS.length] }));
  if (rest) styles.at(-1).colour = css("grey");
  if (codes.includes(-1)) styles.push({ name: "no value", colour: css("grey"), path: SYMBOLS[0] });
  return { styles, of: Uint8Array.from(codes, (code) => (code < 0 ? styles.length - 1 : code)) };
}

function valuePaint({ values }) {
  const [low, high] = valueEnds(values);
  const styles = Array.from({ length: STEPS }, (_, k) => ({ name: null, colour: shade(k / (STEPS - 1)), path: SYMBOLS[0] }));
  if (!values.every(Number.isFinite)) styles.push({ name: "no value", colour: css("grey"), path: SYMBOLS[5] });
  const step = (value) => Math.round((STEPS - 1) * Math.min(1, Math.max(0, (value - low) / (high - low))));
  return { styles, of: Uint8Array.from(values, (value) => (Number.isFinite(value) ? step(value) : STEPS)), low, high };
}

/* Where the colours end: quantiles, or the extremes where one value is almost all of them. */
function valueEnds(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort();
  if (!sorted.length) return [0, 1];
  let ends = ENDS.map((part) => quantile(sorted, part));
  if (ends[0] === ends[1]) ends = [sorted[0], sorted.at(-1)];
  return ends[0] < ends[1] ? ends : [ends[0] - 1, ends[0] + 1];
}

/* The colour of a share from 0 to 1. */
function shade(share) {
  const [first, last] = dark.matches ? ON_DARK : ON_LIGHT;
  const place = (first + share * (last - first)) * (CIVIDIS.length - 1);
  const k = Math.min(Math.floor(place), CIVIDIS.length - 2);
  const [a, b] = [rgb(CIVIDIS[k]), rgb(CIVIDIS[k + 1])];
  const mixed = a.map((value, c) => Math.round(value + (place - k) * (b[c] - value)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function colourBy(field) {
  view.colour = field;
  view.hidden.clear();
  painted = null;
  colourSelect.value = field ? fields.indexOf(field) : -1;
  drawLegend();
  redraw();
}

function drawLegend() {
  legend.replaceChildren();
  legend.hidden = !view.colour;
  if (!view.colour) return;
  legend.append(element("span", { className: "legend-title", textContent: view.colour.name, title: view.colour.name }));
  if (!view.colour.codes) legend.append(colourBar());
  paint().styles.forEach((style, k) => style.name !== null && legend.append(legendButton(style, k)));
}

function legendButton(style, k) {
  const button = element("button", { type: "button", ariaPressed: "true" });
  button.append(swatch(style), element("span", { textContent: style.name, title: style.name }));
  button.addEventListener("click", () => {
    if (!view.hidden.delete(k)) view.hidden.add(k);
    button.ariaPressed = String(!view.hidden.has(k));
    redraw();
  });
  return button;
}

/* Both ends of the colours. Values beyond them have their colours. */
function barEnds() {
  const { low, high } = paint();
  return [low, high].map((value) => valueText(view.colour, value));
}

function colourBar() {
  const bar = element("span", { className: "bar" });
  const strip = element("i", { ariaHidden: "true" });
  strip.style.background = `linear-gradient(to right, ${paint().styles.slice(0, STEPS).map((style) => style.colour).join(", ")})`;
  const [low, high] = barEnds().map((textContent) => element("span", { textContent }));
  bar.append(low, strip, high);
  return bar;
}

function swatch({ path, colour }) {
  const image = element("span");
  image.innerHTML = `<svg width="14" height="14" viewBox="-1.2 -1.2 2.4 2.4" aria-hidden="true"><path d="${path}" fill="${colour}"/></svg>`;
  return image.firstChild;
}

function element(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

function wireColours() {
  if (report.target === null) colourSelect.append(new Option("One colour", -1));
  fields.forEach((field, k) => colourSelect.append(new Option(shorten(field.name), k)));
  colourSelect.addEventListener("change", () => colourBy(fields[colourSelect.value] ?? null));
  colourBy(report.target === null ? null : report.fields[report.target]);
}
