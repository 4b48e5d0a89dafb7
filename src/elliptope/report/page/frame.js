"use strict";

/* What stands behind the points: grid, axes, circles. As SVG, on the page and in exported pictures. */

/* Ticks of an axis, about; and pixels of the small text. */
const TICKS = 6;
const SMALL = 11;
/* Pixels of a letter of it, on average. */
const WIDE = 5.7;

function frameMarkup() {
  return view.picture ? `${outlines()}${axisTitles()}` : `${grid()}${axisTitles()}`;
}

function line(x1, y1, x2, y2, colour, width = 1) {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour}" stroke-width="${width}"/>`;
}

function label(x, y, text, anchor = "middle", more = "") {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${SMALL}" fill="${css("muted")}" ${more}>${escaped(text)}</text>`;
}

function grid() {
  const { left, top, width, height } = view.box;
  const [gridColour, lineColour] = [css("grid"), css("line")];
  const vertical = ticks(view.range.x).map((value) => {
    const [x] = toPixels(value, 0);
    return line(x, top, x, top + height, value ? gridColour : lineColour, value ? 1 : 2) + label(x, top + height + 16, numberText(value));
  });
  const horizontal = ticks(view.range.y).map((value) => {
    const [, y] = toPixels(0, value);
    return line(left, y, left + width, y, value ? gridColour : lineColour, value ? 1 : 2) + label(left - 6, y + 4, numberText(value), "end");
  });
  return vertical.join("") + horizontal.join("");
}

/* Round numbers in a range. */
function ticks([low, high]) {
  const raw = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

function axisTitles() {
  const { left, top, width, height } = view.box;
  const [across, up] = view.axes.map(axisName);
  const middle = top + height / 2;
  /* A long title is drawn closer together, to stay within the map. */
  const squeezed = across.length * WIDE > width ? `textLength="${width}" lengthAdjust="spacingAndGlyphs"` : "";
  return (
    label(left + width / 2, top + height + 36, across, "middle", `class="across" ${squeezed}`) +
    label(14, middle, up, "middle", `class="up" transform="rotate(-90 14 ${middle})"`)
  );
}

/* The circles of a picture. */
function outlines() {
  return report.picture.circles.map(({ radius, label: text }) => circle(radius) + (text ? note(0, radius, text) : "")).join("");
}

function circle(radius) {
  const [x, y] = toPixels(0, 0);
  const [edge] = toPixels(radius, 0);
  return `<circle cx="${x}" cy="${y}" r="${edge - x}" fill="none" stroke="${css("muted")}" stroke-opacity="0.45"/>`;
}

/* A few letters at a place of the plane, on the colour of the page. */
function note(x, y, text) {
  const [left, top] = toPixels(x, y);
  const halo = `stroke="${css("card")}" stroke-width="4" paint-order="stroke"`;
  return label(left, top + 4, text, "middle", halo);
}
