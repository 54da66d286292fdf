/* Draws each chart with uPlot from the data beside it: hover and arrow keys show values, dragging zooms, the legend switches lines. */
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const faded = (hex, share) => hex + Math.round(255 * share).toString(16).padStart(2, "0");
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif';

  const STEPS = []; // between ticks; uPlot's own end at 5e15
  for (let power = -60; power <= 60; power++) for (const unit of [1, 2, 2.5, 5]) STEPS.push(Number(`${unit}e${power}`));

  function number(value, share) {
    if (value === null || value === undefined) return "–";
    if (share) return `${Number((100 * value).toPrecision(3))}%`;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toPrecision(3);
    return Number(value.toPrecision(size >= 999.95 ? 6 : 4)).toLocaleString("en-US", { maximumFractionDigits: size >= 999.95 ? 0 : 8 });
  }

  function build(plot) {
    const ident = plot.dataset.chart;
    const spec = JSON.parse(document.getElementById(`${ident}-data`).textContent);
    const figure = plot.closest("figure");
    const buttons = [...figure.querySelectorAll(".legend button")];
    const usual = buttons.map((button) => button.querySelector(".value").textContent);
    const readout = figure.querySelector(".readout");
    const columns = [spec.x], series = [{}], bands = [], place = [];
    for (const line of spec.lines) {
      place.push(columns.length);
      columns.push(line.y);
      series.push({ line });
    }
    for (const [k, line] of spec.lines.entries()) {
      if (!line.low) continue;
      const at = columns.length;
      columns.push(line.high, line.low);
      series.push({ line, edge: k }, { line, edge: k });
      bands.push([at, at + 1, line.role]);
    }
    const first = spec.x[0], last = spec.x[spec.x.length - 1];
    const room = last > first ? 0 : 0.5;
    let made = null, drawn = 0, at = null;

    const visible = (k) => buttons[k].getAttribute("aria-pressed") === "true";

    function limits(self, low, high) {
      if (spec.fixed) return [spec.low, spec.high];
      if (low === null || high === null) return [spec.low, spec.high];
      if (spec.fromZero) return [0, Math.min(1.06 * high || 1, Math.max(spec.high, 1e-300))];
      const space = 0.05 * (high - low) || Math.max(1, Math.abs(high)) * 0.05;
      return [low - space, high + space];
    }

    function say(k) {
      at = k;
      for (const [j, button] of buttons.entries()) {
        const value = k === null ? usual[j] : number(spec.lines[j].y[k], spec.share);
        button.querySelector(".value").textContent = value;
      }
      let said = k === null ? "" : `${spec.xName} ${number(spec.x[k], false)}`;
      if (k !== null) {
        for (const line of spec.lines) if (line.low) said += `, from ${number(line.low[k], spec.share)} to ${number(line.high[k], spec.share)}`;
      }
      readout.textContent = said;
    }

    function options(width) {
      const ink = colour("soft"), rule = colour("rule");
      const axis = { stroke: ink, font: FONT, grid: { stroke: rule, width: 1 }, ticks: { show: false } };
      const narrow = width < 480;
      const style = (one) => {
        if (!one.line) return {};
        const stroke = colour(one.line.role), k = one.edge === undefined ? spec.lines.indexOf(one.line) : one.edge;
        const base = { show: visible(k), stroke, spanGaps: false };
        if (one.edge !== undefined) return { ...base, width: 0, points: { show: false }, stroke: "transparent" };
        if (one.line.points) return { ...base, paths: () => null, points: { show: true, size: 5, width: 0, fill: faded(stroke, 0.55), stroke } };
        const quiet = one.line.role === "mean" || one.line.role === "last";
        return { ...base, width: quiet ? 1.4 : 2, dash: one.line.dash, points: { show: spec.x.length < 2, size: 6, fill: stroke } };
      };
      return {
        width, height: narrow ? Math.min(spec.height, 260) : spec.height,
        padding: [10, 26, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 }, focus: { prox: -1 } },
        scales: { x: { time: false, range: (self, low, high) => [low - room, high + room] }, y: { range: limits } },
        series: series.map(style),
        bands: bands.map(([high, low, role]) => ({ series: [high, low], fill: faded(colour(role), 0.16) })),
        axes: [
          { ...axis, grid: { show: false }, incrs: STEPS, size: 34, space: narrow ? 70 : 90,
            values: (self, found) => found.map((value) => number(value, false)) },
          { ...axis, incrs: STEPS, space: 42, values: (self, found) => found.map((value) => number(value, spec.share)),
            size: (self, found) => 14 + 7 * Math.max(2, ...(found || []).map((text) => text.length)) },
        ],
        hooks: {
          setCursor: [(self) => { const k = self.cursor.idx; if (k !== at) say(k === undefined ? null : k); }],
          setScale: [(self, name) => {
            if (name !== "x") return;
            const { min, max } = self.scales.x;
            reset.hidden = !(min > first - room + 1e-9 || max < last + room - 1e-9);
          }],
          draw: [(self) => {
            const { ctx, bbox } = self, ratio = devicePixelRatio;
            ctx.save();
            ctx.beginPath(); ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height); ctx.clip();
            ctx.strokeStyle = ink; ctx.fillStyle = ink; ctx.lineWidth = ratio; ctx.setLineDash([2 * ratio, 3 * ratio]);
            ctx.font = `${12 * ratio}px system-ui, "Liberation Sans", Arial, sans-serif`; ctx.textBaseline = "top"; ctx.textAlign = "left";
            for (const [x, text] of spec.marks) {
              const place = Math.round(self.valToPos(x, "x", true));
              ctx.beginPath(); ctx.moveTo(place, bbox.top); ctx.lineTo(place, bbox.top + bbox.height); ctx.stroke();
              if (text) ctx.fillText(text, place + 4 * ratio, bbox.top + 2 * ratio);
            }
            ctx.restore();
          }],
        },
      };
    }

    const reset = document.createElement("button");
    reset.type = "button"; reset.className = "reset"; reset.textContent = "Show all"; reset.hidden = true;
    reset.addEventListener("click", () => { made.setScale("x", { min: first, max: last }); plot.focus(); });

    function draw() {
      const width = Math.floor(plot.clientWidth);
      if (!width) return;
      drawn = width;
      if (made) made.destroy();
      made = new uPlot(options(width), columns, plot);
    }
    plot.append(reset);
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-label", `${spec.title}. Arrow keys read values, plus and minus zoom, Escape shows all. The values are also in the table below.`);
    draw();
    new ResizeObserver(() => { if (Math.floor(plot.clientWidth) !== drawn) draw(); }).observe(plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

    for (const [k, button] of buttons.entries()) {
      button.addEventListener("click", () => {
        const on = !visible(k);
        button.setAttribute("aria-pressed", String(on));
        for (const [j, one] of series.entries()) if (one.line === spec.lines[k]) made.setSeries(j, { show: on });
      });
    }
    plot.addEventListener("keydown", (event) => {
      const { min, max } = made.scales.x, step = event.shiftKey ? 10 : 1;
      const here = at === null ? spec.x.findIndex((x) => x >= min) : at;
      const move = { ArrowRight: step, ArrowLeft: -step }[event.key];
      if (move) {
        const k = at === null ? here : Math.max(0, Math.min(spec.x.length - 1, here + move));
        made.setCursor({ left: made.valToPos(spec.x[k], "x"), top: 10 });
        say(k);
      } else if (event.key === "+" || event.key === "-") {
        const centre = at === null ? (min + max) / 2 : spec.x[at], half = ((max - min) / 2) * (event.key === "+" ? 0.5 : 2);
        made.setScale("x", { min: Math.max(first, centre - half), max: Math.min(last, centre + half) });
      } else if (event.key === "Escape") {
        made.setScale("x", { min: first, max: last }); made.setCursor({ left: -10, top: -10 }); say(null);
      } else return;
      event.preventDefault();
    });
    plot.addEventListener("blur", () => say(null));
  }

  for (const plot of document.querySelectorAll(".plot[data-chart]")) build(plot);

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("main > section[id]")) if (links.has(section.id)) seen.observe(section);

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
