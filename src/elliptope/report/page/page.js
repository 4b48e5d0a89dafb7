"use strict";

/* Everything around the map: slider, axes and views, light and dark. */

const slider = document.getElementById("slider");
const play = document.getElementById("play");
/* Milliseconds between two fits that are played. */
const PLAY_TIME = 1100;
let playing = null;

/* The numbers, words and tables of a fit. */
function show(frame) {
  const fit = report.fits[frame];
  for (const part of document.querySelectorAll("[data-fit]")) part.hidden = Number(part.dataset.fit) !== frame;
  document.querySelectorAll("#path tbody tr").forEach((row, k) => {
    if (k === frame) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  });
  slider.value = frame;
  slider.setAttribute("aria-valuetext", fit.summary);
  document.getElementById("slider-text").textContent = fit.summary;
}

function go(frame) {
  if (view.picture && report.picture.still && frame !== report.chosen) showPicture(false);
  show(frame);
  moveTo(frame);
  drawSpectrum();
  if (view.colour === SCORE) {
    painted = null;
    drawLegend();
  }
  if (view.selected) showDifferences();
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
  play.ariaPressed = String(Boolean(playing));
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
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      const picture = button.dataset.view === "picture";
      if (picture && report.picture.still && view.frame !== report.chosen) go(report.chosen);
      showPicture(picture);
    });
  }
  dark.addEventListener("change", recolour);
  new ResizeObserver(() => { redraw(); drawSpectrum(); }).observe(scatter);
}

function recolour() {
  painted = null;
  drawLegend();
  drawSpectrum();
  redraw();
}

wireColours();
fillAxes();
setMode(firstMode());
wirePointer();
wireHover();
wireSphere();
wireSelection();
wireExport();
wireSpectrum();
wirePage();
show(report.chosen);
drawSpectrum();
drawMap();
/* Read by benchmarks. */
requestAnimationFrame(() => performance.mark("map"));
