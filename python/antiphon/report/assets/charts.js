// Draws every chart of the page from the JSON beside it. SPDX-License-Identifier: Apache-2.0
"use strict";
(() => {
  // Colours are the page's, which follow the reader's scheme.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const three = (v) => (v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0));
  const plain = (v) => String(+v.toPrecision(3));
  const scaled = (v, steps, show) => {
    for (const [size, unit] of steps) if (Math.abs(v) >= size * 0.9995) return show(v / size) + " " + unit;
    const [size, unit] = steps[steps.length - 1];
    return show(v / size) + " " + unit;
  };
  const units = {
    bytes: (v, show) => (v < 1024 ? show(v) + " B" : scaled(v, [[1 << 30, "GiB"], [1 << 20, "MiB"], [1024, "KiB"]], show)),
    seconds: (v, show) => scaled(v, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]], show),
    rate: (v, show) => scaled(v, [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"]], show),
    number: (v, show) => show(v),
  };
  const wide = (u) => u.scales.x.max > 4096 * u.scales.x.min;
  const axis = (kind, label, log) => ({
    label, labelSize: label ? 22 : 0, stroke: colour("soft"), grid: { stroke: colour("grid") }, ticks: { stroke: colour("line") }, size: 62,
    // On a logarithmic axis not every line has room for its number.
    filter: log ? (u, splits) => splits.map((v) => (kind === "bytes" ? (Number.isInteger(Math.log2(v) / (wide(u) ? 4 : 2)) ? v : null)
      : Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6) ? v : null)) : undefined,
    values: (u, splits) => splits.map((v) => (v == null ? "" : units[kind](v, plain))),
  });
  const width = (figure) => Math.max(240, Math.min(560, figure.clientWidth));
  const drawn = new Map();
  const draw = (figure) => {
    drawn.get(figure)?.destroy();
    const said = JSON.parse(figure.querySelector("script").textContent);
    const value = (kind) => (u, v) => (v == null ? "–" : units[kind](v, three));
    const options = {
      width: width(figure), height: 320,
      scales: { x: { time: false, distr: said.logX ? 3 : 1, log: said.x === "bytes" ? 2 : 10 }, y: { distr: said.logY ? 3 : 1, log: 10 } },
      axes: [{ ...axis(said.x, said.xLabel, said.logX), size: 44 }, axis(said.y, said.yLabel, said.logY)],
      series: [{ label: said.xLabel || said.x, value: value(said.x) }, ...said.names.map((label, i) => ({
        label, stroke: colour("c" + (i % 8)), width: said.marks[i] ? 0 : 1.6, spanGaps: true, value: value(said.y),
        points: { show: true, size: said.marks[i] ? 7 : 4, fill: colour("c" + (i % 8)) },
      }))],
    };
    const plot = new uPlot(options, said.data, (made, start) => {
      figure.insertBefore(made.root, figure.querySelector("details"));
      start();
    });
    const canvas = plot.root.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", figure.querySelector("figcaption").textContent + ": " + figure.querySelector(".words").textContent);
    drawn.set(figure, plot);
  };
  const figures = [...document.querySelectorAll("figure.chart")];
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const plot = drawn.get(target);
      if (plot && plot.width !== width(target)) plot.setSize({ width: width(target), height: 320 });
    }
  });
  for (const figure of figures) {
    draw(figure);
    resized.observe(figure);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures.forEach(draw));
  document.documentElement.dataset.charts = String(document.querySelectorAll("figure.chart canvas").length);
})();
