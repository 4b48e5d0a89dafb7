"use strict";

/* Everything around the map: axes and views, light and dark. */

function fillAxes() {
  const selects = ["axis-x", "axis-y"].map((id) => document.getElementById(id));
  selects.forEach((select, side) => {
    for (let a = 0; a <= report.axes.length; a += 1) select.append(new Option(axisName(a), a));
    select.value = [0, report.up][side];
    select.addEventListener("change", () => setAxes(selects.map((s) => Number(s.value))));
  });
}

function wirePage() {
  document.getElementById("zoom-in").addEventListener("click", () => zoomBy(1 / ZOOM_STEP));
  document.getElementById("zoom-out").addEventListener("click", () => zoomBy(ZOOM_STEP));
  document.getElementById("reset").addEventListener("click", resetView);
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => showPicture(button.dataset.view === "picture"));
  }
  dark.addEventListener("change", recolour);
  new ResizeObserver(redraw).observe(scatter);
}

function recolour() {
  painted = null;
  drawLegend();
  redraw();
}

wireColours();
fillAxes();
setMode(touch.matches ? null : "zoom");
wirePointer();
wireHover();
wireSelection();
wireExport();
wirePage();
drawMap();
