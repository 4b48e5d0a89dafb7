"use strict";

/* The points of the map, on a canvas: symbols or, where there are too many in view, their density. */

const canvas = document.getElementById("points");
/* Points in view, beyond which their density is drawn; pixels of a cell of it. */
const DENSE = 20_000;
const CELL = 2;
/* Points from which on they are drawn without outlines. */
const MANY = 500;
/* Selected points that are drawn larger, so as to be found. */
const FEW = 20;
/* Opacity of a cell with a single point. */
const LONELY = 0.35;

function drawPoints() {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(scatter.clientWidth * ratio);
  canvas.height = Math.round(scatter.clientHeight * ratio);
  const pen = canvas.getContext("2d");
  const rows = visibleRows();
  view.dense = rows.length > DENSE;
  if (view.dense) drawDensity(pen, rows, ratio);
  else for (const layer of layers(rows)) drawLayer(pen, layer, ratio);
}

function visibleRows() {
  const rows = [];
  for (let i = 0; i < report.n; i += 1) if (isVisible(i)) rows.push(i);
  return rows;
}

function pointSize() {
  return Math.max(3.5, Math.min(9, 9 - 2.2 * Math.log10(report.n / 150)));
}

/* [{ rows, opacity, size, ring }], in the order in which they are drawn: selected rows on top. */
function layers(rows) {
  const full = report.n > MANY ? 0.75 : 0.9;
  const faint = Number(css("faint")) * (report.n > MANY ? 0.45 : 1);
  const few = view.selected && view.selected.length <= FEW;
  const made = [];
  for (const chosen of [false, true]) {
    const own = view.selected ? rows.filter((i) => Boolean(view.isSelected[i]) === chosen) : chosen ? rows : [];
    const opacity = view.selected ? (chosen ? 1 : faint) : full;
    const look = few && chosen ? { size: 13, ring: true } : { size: pointSize(), ring: false };
    if (own.length) made.push({ rows: own, opacity, ...look });
  }
  return made;
}

function drawLayer(pen, { rows, opacity, size, ring }, ratio) {
  const { styles, of } = paint();
  const [X, Y] = view.at;
  const stamps = [];
  pen.globalAlpha = opacity;
  for (const i of rows) {
    if (!stamps[of[i]]) stamps[of[i]] = stamp(styles[of[i]], size, ring, ratio);
    const image = stamps[of[i]];
    const half = image.width / 2;
    /* Whole pixels, for which nothing has to be interpolated. */
    pen.drawImage(image, Math.round(X[i] * ratio - half), Math.round(Y[i] * ratio - half));
  }
  pen.globalAlpha = 1;
}

/* The symbol of a style as an image, which is drawn faster than its path. */
function stamp({ path, colour }, size, ring, ratio) {
  const side = Math.ceil((1.3 * size + 3) * ratio);
  const image = element("canvas", { width: side, height: side });
  const pen = image.getContext("2d");
  const shape = new Path2D(path);
  const scale = (size / 2) * ratio;
  pen.translate(side / 2, side / 2);
  pen.scale(scale, scale);
  pen.fillStyle = colour;
  pen.fill(shape);
  pen.lineWidth = ((ring ? 1.5 : 0.7) * ratio) / scale;
  pen.strokeStyle = css(ring ? "ink" : "card");
  if (ring || report.n <= MANY) pen.stroke(shape);
  return image;
}

/* Cells in the mean colour of their points, the stronger the more there are. With a selection, others are grey. */
function drawDensity(pen, rows, ratio) {
  const { left, top, width, height } = view.box;
  const [across, down] = [Math.ceil(width / CELL) + 1, Math.ceil(height / CELL) + 1];
  const sums = new Float32Array(4 * across * down); // red, green, blue, number
  const others = new Float32Array(across * down);
  const colours = paint().styles.map(({ colour }) => rgb(colour));
  const { of } = paint();
  const [X, Y] = view.at;
  for (const i of rows) {
    const cell = Math.floor((Y[i] - top) / CELL) * across + Math.floor((X[i] - left) / CELL);
    if (view.selected && !view.isSelected[i]) {
      others[cell] += 1;
      continue;
    }
    const colour = colours[of[i]];
    for (let c = 0; c < 3; c += 1) sums[4 * cell + c] += colour[c];
    sums[4 * cell + 3] += 1;
  }
  const image = densityImage(sums, others, across, down);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(image, left * ratio, top * ratio, across * CELL * ratio, down * CELL * ratio);
}

function densityImage(sums, others, across, down) {
  const image = element("canvas", { width: across, height: down });
  const pen = image.getContext("2d");
  const data = pen.createImageData(across, down);
  const grey = rgb(css("grey"));
  let [most, mostOthers] = [1, 1];
  for (let cell = 0; cell < others.length; cell += 1) {
    most = Math.max(most, sums[4 * cell + 3]);
    mostOthers = Math.max(mostOthers, others[cell]);
  }
  const strength = (count, max) => LONELY + (1 - LONELY) * (Math.log(count) / (Math.log(max) || 1));
  for (let cell = 0; cell < others.length; cell += 1) {
    const count = sums[4 * cell + 3];
    if (!count && !others[cell]) continue;
    for (let c = 0; c < 3; c += 1) data.data[4 * cell + c] = count ? sums[4 * cell + c] / count : grey[c];
    data.data[4 * cell + 3] = 255 * (count ? strength(count, most) : 0.3 * strength(others[cell], mostOthers));
  }
  pen.putImageData(data, 0, 0);
  return image;
}

/* What the picture does not show by itself. */
function sayWhatIsDrawn() {
  const said = [];
  if (view.dense) {
    said.push(`More than ${numberText(DENSE)} points are in view: the stronger a colour, the more of them. Zoom in to see them singly.`);
  }
  if (view.beyond) said.push(`${countOf(view.beyond, "row")} farther out ${view.beyond === 1 ? "is" : "are"} drawn at the edge.`);
  const note = document.getElementById("drawn");
  note.textContent = said.join(" ");
  note.hidden = !said.length;
}
