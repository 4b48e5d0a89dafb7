"use strict";

/* Rows that are selected: by lasso, by typing, by the table of outliers; and their way out, as CSV. */

const selectedText = document.getElementById("selected");
/* Row numbers that are written out. */
const NAMED = 12;

function select(rows) {
  const chosen = [...new Set(rows)].sort((i, j) => report.rows[i] - report.rows[j]);
  view.selected = chosen.length ? new Set(chosen) : null;
  const named = chosen.slice(0, NAMED).map((i) => report.rows[i]).join(", ");
  const count = chosen.length === 1 ? "1 row selected" : `${chosen.length} rows selected`;
  selectedText.textContent = chosen.length ? `${count}: ${named}${chosen.length > NAMED ? ", …" : ""}` : "No rows selected.";
  for (const id of ["download", "clear"]) document.getElementById(id).disabled = !chosen.length;
  return restyle();
}

/* plotly.js numbers points within their group. */
function lassoed(event) {
  return event.points.map((point) => groups[point.curveNumber].members[point.pointNumber]);
}

/* Rows for "3, 10-20, some text": numbers, ranges of numbers, and whatever occurs in a name or label. */
function find(query) {
  const tests = query.split(",").map((part) => part.trim()).filter(Boolean).map(tester);
  return Array.from({ length: report.n }, (_, i) => i).filter((i) => tests.some((test) => test(i)));
}

function tester(part) {
  const range = part.match(/^(\d+)(?:\s*[-–]\s*(\d+))?$/);
  if (range) {
    const [low, high] = [Number(range[1]), Number(range[2] ?? range[1])];
    return (i) => low <= report.rows[i] && report.rows[i] <= high;
  }
  const text = part.toLowerCase();
  return (i) => nameOf(i).toLowerCase().includes(text) || labelOf(i).toLowerCase().includes(text);
}

function download() {
  const rows = Array.from(view.selected, (i) => report.rows[i]);
  const address = URL.createObjectURL(new Blob([["row", ...rows, ""].join("\n")], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: "rows.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function wireSelection() {
  const query = document.getElementById("query");
  scatter.on("plotly_selected", (event) => {
    if (event && !view.own) select(lassoed(event));
  });
  scatter.on("plotly_doubleclick", () => (scatter.layout.dragmode === "lasso" ? select([]) : resetView()));
  document.getElementById("selection").addEventListener("submit", (event) => {
    event.preventDefault();
    const rows = find(query.value);
    select(rows).then(() => {
      if (!rows.length) selectedText.textContent = `No row matches “${query.value}”.`;
    });
  });
  document.getElementById("download").addEventListener("click", download);
  document.getElementById("clear").addEventListener("click", () => {
    query.value = "";
    select([]);
  });
  document.getElementById("outliers").addEventListener("click", (event) => {
    const button = event.target.closest("[data-row]");
    if (!button) return;
    select([Number(button.dataset.row)]);
    scatter.scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
  });
}
