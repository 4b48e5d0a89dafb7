"use strict";

/* What the points are coloured by: classes or values that were given, the density, or a column of the data. */

const colourSelect = document.getElementById("colour");
/* Choices of the list, besides the number of a column. */
const GIVEN = "given";
const DENSITY = "density";
view.colour = GIVEN;

/* { name, values } where colours stand for numbers, else null. */
function colouring() {
  if (view.colour === DENSITY) return { name: "Log density", values: report.scores };
  if (view.colour !== GIVEN) return ofColumn(report.columns[view.colour]);
  return report.values && { name: report.valuesName ?? "", values: report.values };
}

function ofColumn({ name, low, high, steps }) {
  return { name, values: Float32Array.from(steps, (step) => low + (step / 255) * (high - low)) };
}

function paint(g) {
  const shown = colouring();
  if (!shown) return { color: css(g.colour) };
  return { color: Float32Array.from(g.members, (i) => shown.values[i]), coloraxis: "coloraxis" };
}

function colourAxis(muted) {
  const shown = colouring();
  if (!shown) return { showscale: false };
  const [cmin, cmax] = extent(shown.values);
  const title = { text: plain(shorten(shown.name)), side: "right", font: { size: 12, color: muted } };
  const colorbar = { thickness: 10, outlinewidth: 0, len: 0.7, tickfont: { size: 11, color: muted }, title };
  return { colorscale: "Cividis", cmin, cmax, showscale: true, colorbar };
}

function extent(values) {
  const known = values.filter((value) => Number.isFinite(value));
  const [low, high] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  return low < high ? [low, high] : [(known[0] ?? 0) - 1, (known[0] ?? 0) + 1];
}

function fillColours() {
  const given = report.classes || report.values;
  colourSelect.append(new Option(given ? shorten(report.valuesName ?? "Label") : "One colour", GIVEN));
  colourSelect.append(new Option("Log density", DENSITY));
  report.columns.forEach(({ name }, k) => colourSelect.append(new Option(shorten(name), k)));
  colourSelect.addEventListener("change", () => {
    view.colour = colourSelect.value;
    document.getElementById("legend").classList.toggle("plain", Boolean(colouring()));
    return restyle();
  });
}
