"use strict";

/* Ways out of the page: the picture, the coordinates, the selection. */

/* Pixels of an exported picture for one of the screen; height of a line of its legend. */
const SHARP = 2;
const LINE = 20;

function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/* The map as it is on the screen, with its legend. */
function pictureMarkup() {
  const [width, height] = [scatter.clientWidth, scatter.clientHeight];
  const { markup, lines } = legendMarkup(width, height);
  const total = height + lines * LINE + 12;
  const font = getComputedStyle(document.body).fontFamily.replace(/"/g, "'");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" viewBox="0 0 ${width} ${total}" font-family="${font}">` +
    `<title>${escaped(document.title)}</title><rect width="${width}" height="${total}" fill="${css("card")}"/>` +
    `${frameMarkup()}${pointsMarkup(width, height)}${markup}</svg>`
  );
}

function pointsMarkup(width, height) {
  if (view.dense) return `<image width="${width}" height="${height}" href="${canvas.toDataURL()}"/>`;
  const { styles, of } = paint();
  const [X, Y] = view.at;
  const drawn = layers(visibleRows()).map(({ rows, opacity, size, ring }) => {
    const edge = ring ? css("ink") : css("card");
    const stroke = ring || report.n <= MANY ? `stroke="${edge}" stroke-width="${(ring ? 3 : 1.4) / size}"` : "";
    const symbol = (i) => `<path transform="translate(${X[i].toFixed(1)} ${Y[i].toFixed(1)}) scale(${size / 2})" d="${styles[of[i]].path}" fill="${styles[of[i]].colour}"/>`;
    return `<g opacity="1" fill-opacity="${opacity}" stroke-opacity="${opacity}" ${stroke}>${rows.map(symbol).join("")}</g>`;
  });
  return drawn.join("");
}

/* The legend below the map: { markup, lines }. */
function legendMarkup(width, height) {
  if (!view.colour) return { markup: "", lines: 0 };
  const left = AROUND.left;
  const title = label(left, height + 12, shorten(view.colour.name), "start", 'font-weight="600"');
  const text = (x, line, content) => label(x, height + 12 + line * LINE, content, "start");
  let bar = "";
  if (!view.colour.codes) {
    const [low, high] = barEnds();
    const strips = paint().styles.slice(0, STEPS).map(({ colour }, k) =>
      `<rect x="${left + 70 + 2 * k}" y="${height + 12 + LINE - 9}" width="2.5" height="10" fill="${colour}"/>`);
    bar = text(left, 1, low) + strips.join("") + text(left + 78 + 2 * STEPS, 1, high);
  }
  let [x, row, markup] = [bar ? left + 160 + 2 * STEPS : left, 1, title + bar];
  for (const { name, colour, path } of paint().styles.filter((style) => style.name !== null)) {
    const wide = 30 + 6.5 * shorten(name).length;
    if (x > left && x + wide > width) [x, row] = [left, row + 1];
    markup += `<path transform="translate(${x + 6} ${height + 8 + row * LINE}) scale(5)" d="${path}" fill="${colour}"/>`;
    markup += text(x + 16, row, shorten(name));
    x += wide;
  }
  return { markup, lines: row + 1 };
}

async function exportPNG() {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(pictureMarkup())}`;
  await image.decode();
  const sheet = element("canvas", { width: SHARP * image.width, height: SHARP * image.height });
  sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
  sheet.toBlob((blob) => save("map.png", blob));
}

/* Lines of comma-separated values: number, name and label of a row, then the given columns, { name, text(i) }. */
function table(rows, columns) {
  const about = [{ name: "row", text: (i) => String(report.rows[i]) }];
  if (report.names) about.push({ name: "name", text: nameOf });
  if (report.labels || report.target !== null) about.push({ name: "label", text: labelOf });
  const all = [...about, ...columns];
  const lines = rows.map((i) => all.map((column) => quoted(column.text(i))).join(","));
  return [all.map((column) => quoted(column.name)).join(","), ...lines, ""].join("\r\n");
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/* All digits that the page has of a number. */
function digits(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "";
}

function coordinatesTable() {
  const column = (a, name) => ({ name, text: (i) => digits(report.columns[a][i]) });
  const drawn = report.picture ? PICTURE_AXES.map((a, side) => column(a, `${report.picture.view} ${"xy"[side]}`)) : [];
  const axes = Array.from({ length: report.axes.length + 1 }, (_, a) => column(a, axisName(a)));
  return table(allRows(), [...axes, ...drawn]);
}

function selectionTable() {
  const others = report.fields.filter((_, k) => k !== report.target || report.labels);
  const text = (field) => (i) => (field.codes || field.dates ? textOf(field, i) : digits(field.values[i]));
  return table(view.selected, others.map((field) => ({ name: field.name, text: text(field) })));
}

function wireExport() {
  const on = (id, action) => document.getElementById(id).addEventListener("click", action);
  on("export-png", exportPNG);
  on("export-svg", () => save("map.svg", pictureMarkup(), "image/svg+xml"));
  on("export-coordinates", () => save("coordinates.csv", coordinatesTable(), "text/csv"));
  on("export-selection", () => save("selection.csv", selectionTable(), "text/csv"));
}
