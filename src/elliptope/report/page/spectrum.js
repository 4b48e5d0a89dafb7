"use strict";

/* Shares of the eigenvalues at every value of the slider. */

const spectrum = document.getElementById("spectrum");
const SPECTRUM_AROUND = { left: 44, right: 28, top: 8, bottom: 38 };
/* Eigenvalues below this share everywhere are left out; the table has the numbers. Labels of the axis, at most. */
const VISIBLE = 0.005;
const LABELS = 6;

function drawSpectrum() {
  if (report.fits.length < 2) return;
  const [width, height] = [spectrum.clientWidth, spectrum.clientHeight];
  const { left, right, top, bottom } = SPECTRUM_AROUND;
  const logs = report.fits.map((fit) => Math.log(fit.scale));
  const across = (k) => left + ((logs[k] - logs[0]) / (logs.at(-1) - logs[0])) * (width - left - right);
  const up = (share) => top + (1 - share) * (height - top - bottom);
  const parts = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    line(left, up(share), width - right, up(share), css(share ? "grid" : "line")) +
    label(left - 6, up(share) + 4, `${100 * share}\u00a0%`, "end"));
  const step = Math.ceil(report.fits.length / LABELS);
  report.fits.forEach((fit, k) => {
    if ((k - report.chosen) % step === 0) parts.push(label(across(k), height - bottom + 16, fit.text));
  });
  parts.push(label((left + width - right) / 2, height - 4, report.parameter));
  const here = across(view.frame);
  parts.push(`<line x1="${here}" y1="${top}" x2="${here}" y2="${height - bottom}" stroke="${css("accent")}" stroke-width="2" stroke-dasharray="2 4"/>`);
  parts.push(...eigenvalueLines(across, up, width - right));
  spectrum.innerHTML = `<svg width="${width}" height="${height}">${parts.join("")}</svg>`;
}

function eigenvalueLines(across, up, end) {
  const named = []; // heights of the names so far, which must not touch
  const shown = report.fits[0].shares.map((_, k) => k).filter((k) => report.fits.some((fit) => fit.shares[k] > VISIBLE));
  return shown.slice(0, COLOURS.length).map((k) => {
    const colour = css(COLOURS[k]);
    const places = report.fits.map((fit, f) => [across(f), up(fit.shares[k])]);
    const marks = places.map(([x, y], f) =>
      `<path data-frame="${f}" transform="translate(${x} ${y}) scale(4)" d="${SYMBOLS[k % SYMBOLS.length]}" fill="${colour}">` +
      `<title>λ${k + 1}: ${percent(report.fits[f].shares[k])} at ${escaped(report.fits[f].text)}</title></path>`);
    const height = places.at(-1)[1];
    const free = named.every((other) => Math.abs(other - height) >= SMALL);
    if (free) named.push(height);
    const last = !free ? "" : `<text x="${end + 8}" y="${height + 4}" font-size="${SMALL}" fill="${colour}">λ<tspan dy="3" font-size="8">${k + 1}</tspan></text>`;
    return `<polyline points="${places.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>${marks.join("")}${last}`;
  });
}

function wireSpectrum() {
  spectrum.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-frame]");
    if (mark) go(Number(mark.dataset.frame));
  });
}
