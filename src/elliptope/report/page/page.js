"use strict";

/* Everything around the map: slider, spectrum, legend, axes and views, light and dark. */

const slider = document.getElementById("bandwidth");
const spectrum = document.getElementById("spectrum");
const play = document.getElementById("play");
/* Milliseconds between two bandwidths that are played. */
const PLAY_TIME = 1100;
let playing = null;

function show(frame) {
  const fit = report.fits[frame];
  for (const part of document.querySelectorAll("[data-fit]")) part.hidden = Number(part.dataset.fit) !== frame;
  document.querySelectorAll("#path tbody tr").forEach((row, k) => {
    if (k === frame) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  });
  slider.value = frame;
  slider.setAttribute("aria-valuetext", fit.summary);
  document.getElementById("bandwidth-text").textContent = fit.summary;
  if (report.fits.length > 1) Plotly.relayout(spectrum, { shapes: [here(fit)] });
}

function go(frame) {
  if (view.picture && report.picture.view === "layout" && frame !== report.chosen) showPicture(false);
  show(frame);
  moveTo(frame);
}

function drawSpectrum() {
  if (report.fits.length < 2) return;
  const scales = report.fits.map((fit) => fit.scale);
  /* Eigenvalues that matter somewhere; the table has the numbers. */
  const shown = report.fits[0].shares.map((_, k) => k).filter((k) => report.fits.some((fit) => fit.shares[k] > 0.005));
  const traces = shown.slice(0, COLOURS.length).map((k) => ({
    x: scales,
    y: report.fits.map((fit) => fit.shares[k]),
    mode: "lines+markers+text",
    text: report.fits.map((_, f) => (f === scales.length - 1 ? `λ<sub>${k + 1}</sub>` : "")),
    textposition: "middle right",
    cliponaxis: false,
    hovertemplate: `λ<sub>${k + 1}</sub>: %{y:.1%} at ${report.symbol} = %{x:.4g}<extra></extra>`,
  }));
  Plotly.newPlot(spectrum, traces, spectrumLayout(), { displayModeBar: false, responsive: true }).then(colourSpectrum);
  spectrum.on("plotly_click", (event) => go(event.points[0].pointIndex));
}

function spectrumLayout() {
  const [muted, grid, line] = ["muted", "grid", "line"].map(css);
  const axis = { color: muted, gridcolor: grid, zerolinecolor: line, tickfont: { size: 11 }, fixedrange: true };
  const base = plotLayout();
  return {
    ...base,
    margin: { l: 44, r: 26, t: 6, b: 40 },
    dragmode: false,
    annotations: [],
    xaxis: { ...axis, type: "log", title: { text: `Bandwidth ${report.symbol}`, standoff: 6, font: { size: 12 } },
      tickvals: ticks(), tickformat: ".3~g", showgrid: false },
    yaxis: { ...axis, range: [0, 1.04], tickformat: ".0%", nticks: 5 },
    shapes: [here(report.fits[view.frame])],
  };
}

/* Every other bandwidth, where there are many: labels must not touch. */
function ticks() {
  const step = Math.ceil(report.fits.length / 6);
  return report.fits.filter((_, k) => (k - report.chosen) % step === 0).map((fit) => fit.scale);
}

function colourSpectrum() {
  const colours = spectrum.data.map((_, k) => css(COLOURS[k]));
  const symbols = spectrum.data.map((_, k) => SYMBOLS[k % SYMBOLS.length][0]);
  return Plotly.restyle(spectrum, {
    "line.color": colours, "line.width": 2, "marker.color": colours, "marker.symbol": symbols, "marker.size": 7,
  });
}

/* The line that marks the bandwidth shown. */
function here(fit) {
  return { type: "line", x0: fit.scale, x1: fit.scale, y0: 0, y1: 1, yref: "paper", layer: "below",
    line: { color: css("accent"), width: 2, dash: "dot" } };
}

function drawLegend() {
  if (!report.classes) return;
  const legend = document.getElementById("legend");
  legend.classList.toggle("plain", Boolean(colouring()));
  groups.forEach((g, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(swatch(g), Object.assign(document.createElement("span"), { textContent: g.name, title: g.name }));
    button.addEventListener("click", () => {
      const visible = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(visible));
      ours(() => Plotly.restyle(scatter, { visible }, [k]));
    });
    legend.append(button);
  });
}

function swatch(g) {
  const ns = "http://www.w3.org/2000/svg";
  const image = document.createElementNS(ns, "svg");
  const path = document.createElementNS(ns, "path");
  for (const [name, value] of Object.entries({ width: 14, height: 14, viewBox: "-1.2 -1.2 2.4 2.4", "aria-hidden": "true" })) {
    image.setAttribute(name, value);
  }
  path.setAttribute("d", g.path);
  path.setAttribute("style", `fill: var(--${g.colour})`);
  image.append(path);
  return image;
}

function fillAxes() {
  const selects = ["axis-x", "axis-y"].map((id) => document.getElementById(id));
  selects.forEach((select, side) => {
    for (let a = 0; a <= report.size.axes; a += 1) select.append(new Option(axisName(a), a));
    select.value = [0, report.up][side];
    select.addEventListener("change", () => setAxes(selects.map((s) => Number(s.value))));
  });
}

function togglePlay() {
  if (playing) {
    clearInterval(playing);
    playing = null;
  } else {
    const last = report.fits.length - 1;
    go(view.frame === last ? 0 : view.frame + 1);
    playing = setInterval(() => (view.frame === last ? togglePlay() : go(view.frame + 1)), PLAY_TIME);
  }
  play.textContent = playing ? "Pause" : "Play";
  play.setAttribute("aria-pressed", String(Boolean(playing)));
}

function wirePage() {
  slider.addEventListener("input", () => {
    if (playing) togglePlay();
    go(Number(slider.value));
  });
  play.addEventListener("click", togglePlay);
  document.getElementById("zoom-in").addEventListener("click", () => zoomBy(1 / ZOOM_STEP));
  document.getElementById("zoom-out").addEventListener("click", () => zoomBy(ZOOM_STEP));
  document.getElementById("reset").addEventListener("click", resetView);
  for (const button of document.querySelectorAll("[data-mode]")) {
    button.addEventListener("click", () => setMode(view.mode === button.dataset.mode ? false : button.dataset.mode));
  }
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => showPicture(button.dataset.view === "picture"));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
}

function recolour() {
  ours(() => Plotly.relayout(scatter, plotLayout())).then(restyle);
  if (report.fits.length > 1) Plotly.relayout(spectrum, spectrumLayout()).then(colourSpectrum);
}

drawScatter();
drawSpectrum();
drawLegend();
fillAxes();
fillColours();
wireSphere();
wireSelection();
wirePage();
show(report.chosen);
