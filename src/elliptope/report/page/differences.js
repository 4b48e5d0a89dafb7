"use strict";

/* What distinguishes the selected rows from all others: a line for every field, the largest effect first. */

const differences = document.getElementById("differences");

function showDifferences() {
  const some = view.selected && view.selected.length < report.n;
  document.getElementById("differences-none").hidden = Boolean(some);
  document.getElementById("differences-some").hidden = !some;
  if (!some) return;
  const found = fields.map((field) => ({ field, ...difference(field) }));
  found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  differences.replaceChildren(...found.map(differenceRow));
}

function difference(field) {
  return field.codes ? classDifference(field) : valueDifference(field);
}

/* Medians, and Cliff's delta: the probability that a selected value is above another, less the probability that it is below. */
function valueDifference(field) {
  const { values } = field;
  const chosen = sortedValues(values, 1);
  const others = sortedValues(values, 0);
  if (!chosen.length || !others.length) return { effect: 0, chosen: "", others: "" };
  let [below, notAbove, sum] = [0, 0, 0]; // of the others, for the selected value at hand
  for (const value of chosen) {
    while (below < others.length && others[below] < value) below += 1;
    while (notAbove < others.length && others[notAbove] <= value) notAbove += 1;
    sum += below - (others.length - notAbove);
  }
  const [a, b] = [chosen, others].map((sorted) => valueText(field, median(sorted)));
  return { effect: sum / (chosen.length * others.length), chosen: a, others: b };
}

function sortedValues(values, selected) {
  return values.filter((value, i) => Number.isFinite(value) && view.isSelected[i] === selected).sort();
}

function median(sorted) {
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

/* The class whose share differs most, and the total variation: half of the sum of all differences of shares. */
function classDifference(field) {
  const { names, codes } = field;
  const counts = [0, 1].map(() => new Float64Array(names.length));
  codes.forEach((code, i) => { if (code >= 0) counts[1 - view.isSelected[i]][code] += 1; });
  const sums = counts.map((count) => count.reduce((a, b) => a + b, 0));
  if (!sums[0] || !sums[1]) return { effect: 0, chosen: "", others: "" };
  const shares = counts.map((count, side) => count.map((value) => value / sums[side]));
  const gaps = names.map((_, k) => Math.abs(shares[0][k] - shares[1][k]));
  const most = gaps.indexOf(Math.max(...gaps));
  const effect = gaps.reduce((a, b) => a + b, 0) / 2;
  if (view.selected.length > 1) return { effect, chosen: `${shorten(names[most])}: ${percent(shares[0][most])}`, others: percent(shares[1][most]) };
  const text = textOf(field, view.selected[0]); // of its own class, also where several classes share one name
  const same = allRows().filter((i) => !view.isSelected[i] && textOf(field, i) === text).length;
  return { effect, chosen: `${shorten(text)}: ${percent(1)}`, others: percent(same / sums[1]) };
}

function differenceRow({ field, effect, chosen, others }) {
  const row = element("tr");
  const button = element("button", { type: "button", textContent: shorten(field.name), title: `Colour by ${field.name}` });
  button.addEventListener("click", () => colourBy(field));
  const head = element("th", { scope: "row" });
  head.append(button);
  const bar = element("i", { ariaHidden: "true" });
  bar.style.width = `${50 * Math.abs(effect)}%`;
  bar.style[effect < 0 ? "right" : "left"] = "50%";
  const last = element("td", { className: "figure effect", textContent: fixedText(effect) });
  last.append(bar);
  row.append(head, element("td", { className: "figure", textContent: chosen }), element("td", { className: "figure", textContent: others }), last);
  return row;
}
