"use strict";

/* Rows that are selected: on the map, by typing, or by the table of outliers. */

const selectedText = document.getElementById("selected");
/* Row numbers that are written out. */
const NAMED = 12;

function select(rows) {
  view.isSelected.fill(0);
  for (const i of rows) view.isSelected[i] = 1;
  const chosen = allRows().filter((i) => view.isSelected[i]);
  view.selected = chosen.length ? chosen : null;
  const named = chosen.slice(0, NAMED).map((i) => report.rows[i]).join(", ");
  selectedText.textContent = chosen.length
    ? `${countOf(chosen.length, "row")} selected: ${named}${chosen.length > NAMED ? ", …" : ""}`
    : "No rows selected.";
  for (const id of ["export-selection", "clear"]) document.getElementById(id).disabled = !chosen.length;
  showDifferences();
  redraw();
}

/* Rows for "3, 10-20, some text": numbers, ranges of numbers, names and labels; those that contain the text if none is equal to it. */
function find(query) {
  const tests = query.split(",").map((part) => part.trim()).filter(Boolean).map(tester);
  return allRows().filter((i) => tests.some((test) => test(i)));
}

function tester(part) {
  const range = part.match(/^(\d+)(?:\s*[-–]\s*(\d+))?$/);
  if (range) {
    const [low, high] = [Number(range[1]), Number(range[2] ?? range[1])];
    return (i) => low <= report.rows[i] && report.rows[i] <= high;
  }
  const text = part.toLowerCase();
  const texts = (i) => [nameOf(i), labelOf(i)].map((name) => name.toLowerCase());
  if (allRows().some((i) => texts(i).includes(text))) return (i) => texts(i).includes(text);
  return (i) => texts(i).some((name) => name.includes(text));
}

/* Select rows that were looked for, with the whole map in view if they are not. */
function selectFound(rows) {
  if (!rows.every(inBox)) view.moved = false;
  select(rows);
}

function wireSelection() {
  const query = document.getElementById("query");
  document.getElementById("selection").addEventListener("submit", (event) => {
    event.preventDefault();
    const rows = find(query.value);
    selectFound(rows);
    if (!rows.length) selectedText.textContent = `No row matches “${query.value}”.`;
  });
  document.getElementById("clear").addEventListener("click", () => {
    query.value = "";
    select([]);
  });
  document.getElementById("outliers").addEventListener("click", (event) => {
    const button = event.target.closest("[data-row]");
    if (!button) return;
    selectFound([Number(button.dataset.row)]);
    scatter.scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
  });
}
