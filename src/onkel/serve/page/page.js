/* Watches the server: the list of models comes as events, the chosen model is fetched whenever it has learnt. */
(() => {
  "use strict";
  const LEAST_PAUSE = 500, LONGEST_PAUSE = 10000; // ms between two tries to connect
  const SILENCE = 40000; // ms without an event, after which the connection counts as lost
  const ROWS_AT_ONCE = 500; // of a csv, in one request
  const FONT = "12px system-ui, sans-serif";
  const find = (selector, inside = document) => inside.querySelector(selector);
  const field = (name) => find(`[data-field="${name}"]`);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const state = { models: new Map(), latency: {}, rates: new Map(), shown: null, fetched: -1, busy: false, plot: null, hidden: new Set() };

  function number(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toPrecision(3);
    return Number(value.toPrecision(size >= 1000 ? 7 : 4)).toLocaleString("en-US", { maximumFractionDigits: size >= 1000 ? 0 : 8 });
  }

  function element(tag, content = "", attributes = {}) {
    const made = document.createElement(tag);
    made.append(...[content].flat());
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // --- the server

  async function ask(path, options = {}) {
    const token = sessionStorage.getItem("onkel token");
    const headers = { ...(options.body ? { "content-type": "application/json" } : {}), ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(path, { ...options, headers });
    if (response.status === 401) askForToken();
    if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error || `status ${response.status}`);
    return response;
  }

  function askForToken() {
    find("#token").hidden = false;
    find("#all").hidden = find("#one").hidden = true;
  }

  function say(words, kind) {
    const line = find('[data-testid="state"]');
    line.textContent = words;
    line.className = `state ${kind}`;
  }

  async function listen() {
    let pause = LEAST_PAUSE;
    for (;;) {
      const stop = new AbortController();
      let watch = setTimeout(() => stop.abort(), SILENCE);
      try {
        const reader = (await ask("/events", { signal: stop.signal })).body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          clearTimeout(watch);
          watch = setTimeout(() => stop.abort(), SILENCE);
          pause = LEAST_PAUSE;
          const events = (text + value).split("\n\n");
          text = events.pop();
          for (const event of events) if (event.startsWith("data: ")) receive(JSON.parse(event.slice(6)));
        }
      } catch { /* it is tried again */ }
      clearTimeout(watch);
      say("no connection, trying again …", "lost");
      await new Promise((go) => setTimeout(go, pause));
      pause = Math.min(LONGEST_PAUSE, 2 * pause);
    }
  }

  function receive(event) {
    const now = performance.now();
    say("live", "live");
    find("#token").hidden = true;
    const models = new Map(event.models.map((one) => [one.name, one]));
    for (const one of models.values()) {
      const before = state.rates.get(one.name);
      const rate = before && now > before.at && one.rows >= before.rows ? (1000 * (one.rows - before.rows)) / (now - before.at) : 0;
      state.rates.set(one.name, { at: now, rows: one.rows, rate });
    }
    state.models = models;
    state.latency = event.latency;
    show();
  }

  // --- what is shown

  function show() {
    const name = decodeURIComponent(location.hash.slice(1));
    const one = state.models.get(name);
    find("#all").hidden = Boolean(one);
    find("#one").hidden = !one;
    document.title = one ? `${name} · onkel` : "onkel";
    if (one) showOne(one);
    else showAll();
  }

  function showAll() {
    state.shown = null;
    find("#none").hidden = state.models.size > 0;
    const rows = [...state.models.values()].map((one) => {
      const [measure, error] = Object.entries(one.error || {})[0] || ["", null];
      const cells = [
        element("th", element("a", one.name, { href: `#${encodeURIComponent(one.name)}` }), { scope: "row" }), element("td", one.settings.target),
        element("td", number(one.rows), { class: "number" }), element("td", number(Math.round(state.rates.get(one.name).rate)), { class: "number" }),
        element("td", error === null ? "–" : `${measure} ${number(error)}`, { class: "number" }),
      ];
      return element("tr", cells);
    });
    const table = find('[data-testid="models"]');
    const at = [...table.querySelectorAll("a")].indexOf(document.activeElement);
    table.replaceChildren(...rows);
    if (at >= 0) table.querySelectorAll("a")[at]?.focus();
  }

  async function showOne(one) {
    if (state.busy || (state.shown === one.name && state.fetched === one.rows)) return;
    state.busy = true;
    try {
      const model = await (await ask(`/models/${encodeURIComponent(one.name)}`)).json();
      if (state.shown !== one.name) state.hidden.clear();
      [state.shown, state.fetched] = [one.name, model.rows];
      fill(model);
    } catch (error) {
      say(error.message, "lost");
    } finally {
      state.busy = false;
    }
  }

  function fill(model) {
    field("name").textContent = model.name;
    field("settings").textContent = JSON.stringify(model.settings, null, 1);
    field("sentence").textContent = sentence(model);
    const latency = (route) => (state.latency[route] ? number(1000 * state.latency[route].p99) : "–");
    const tiles = [
      ["rows learnt", number(model.rows), ""], ["rows a second", number(Math.round(state.rates.get(model.name)?.rate ?? 0)), ""],
      ["a row takes", number(model.microseconds_per_row), "µs"], ["memory", model.bytes ? number(model.bytes / 1e6) : "–", "MB"],
      ["learn, 99%", latency("learn"), "ms"], ["predict, 99%", latency("predict"), "ms"],
    ];
    const tile = ([title, value, unit]) => element("div", [element("dt", title), element("dd", [value, element("span", unit, { class: "unit" })])]);
    find('[data-testid="tiles"]').replaceChildren(...tiles.map(tile));
    const change = (one) => `row ${number(one.row)}: the mean loss rose from ${number(one.before)} to ${number(one.after)}`;
    list("changes", (model.changes || []).map(change));
    list("decided", model.decided || []);
    list("notes", model.notes || []);
    const recent = model.recent || [];
    find('[data-part="recent"]').hidden = recent.length === 0;
    const range = (one) => (one.low === null || one.low === undefined ? "–" : `${number(one.low)} to ${number(one.high)}`);
    const row = (one) => element("tr", [element("td", number(one.predicted), { class: "number" }), element("td", range(one)), element("td", number(one.label), { class: "number" })]);
    find('[data-testid="recent"]').replaceChildren(...recent.map(row));
    draw(model);
  }

  function list(name, said) {
    find(`[data-part="${name}"]`).hidden = said.length === 0;
    field(name).replaceChildren(...said.map((one) => element("li", one)));
  }

  function sentence(model) {
    if (!model.curve) return `It predicts ${model.settings.target}, and has not learnt a row yet.`;
    const [measure, error] = Object.entries(model.error)[0];
    const last = model.window[measure];
    const guesses = Object.entries(model.baselines).map(([name, errors]) => `${number(errors[measure])} for the ${name}`);
    return `${model.learner} predicts ${model.settings.target}: ${measure} ${number(error)} over all rows (${guesses.join(", ")}), ${number(last)} in the last ${number(model.window.rows)}.`;
  }

  // --- the chart

  const ROLES = { running_mean: "mean", most_frequent_label: "mean", last_label: "last" };

  function draw(model) {
    const place = find(".plot");
    if (!model.curve) {
      state.plot?.destroy();
      state.plot = null;
      field("legend").replaceChildren();
      field("curve").textContent = "";
      return;
    }
    const { rows, ...lines } = model.curve;
    const names = Object.keys(lines);
    const data = [rows, ...names.map((name) => lines[name])];
    field("curve").textContent = `${names[0]} in windows along the stream, beside the baselines; ${number(rows[rows.length - 1])} rows.`;
    const fits = state.plot && state.plot.onkel === names.join();
    if (fits) state.plot.setData(data);
    else {
      state.plot?.destroy();
      state.plot = build(place, names, data);
      legend(names);
    }
  }

  function build(place, names, data) {
    const grid = { stroke: colour("rule"), width: 1 }, ticks = { show: false };
    const axis = { stroke: colour("soft"), grid, ticks, font: FONT };
    const line = (name, k) => ({
      label: name.replaceAll("_", " "), stroke: colour(ROLES[name] || (k ? `other${k}` : "own")), width: k ? 1.4 : 2,
      dash: { running_mean: [6, 4], most_frequent_label: [6, 4], last_label: [2, 3] }[name], points: { show: data[0].length < 2 }, show: !state.hidden.has(name),
    });
    const options = {
      width: place.clientWidth, height: 300, legend: { show: false }, scales: { x: { time: false } },
      axes: [{ ...axis, label: "rows", labelFont: FONT, labelSize: 20 }, { ...axis, size: 64, values: (_, all) => all.map(number) }],
      series: [{}, ...names.map(line)], hooks: { setCursor: [readout] },
    };
    const plot = new uPlot(options, data, place);
    plot.onkel = names.join();
    return plot;
  }

  function legend(names) {
    const button = (name, k) => {
      const made = element("button", element("span", `${name.replaceAll("_", " ")} `, { class: "name" }), { type: "button", "aria-pressed": String(!state.hidden.has(name)) });
      made.append(element("span", "", { class: "value", "data-line": k + 1 }));
      made.style.color = colour(ROLES[name] || (k ? `other${k}` : "own"));
      made.addEventListener("click", () => {
        const hide = !state.hidden.delete(name);
        if (hide) state.hidden.add(name);
        made.setAttribute("aria-pressed", String(!hide));
        state.plot.setSeries(k + 1, { show: !hide });
      });
      return element("li", made);
    };
    field("legend").replaceChildren(...names.map(button));
  }

  function readout(plot) {
    const at = plot.cursor.idx;
    for (const value of document.querySelectorAll("[data-line]")) {
      value.textContent = at === null || at === undefined ? "" : number(plot.data[Number(value.dataset.line)][at]);
    }
  }

  function redraw() {
    state.plot?.destroy();
    state.plot = null;
    state.fetched = -1;
    show();
  }

  // --- a model from a csv

  function parse(text) {
    const rows = [];
    let row = [], cell = "", quoted = false;
    for (let k = 0; k < text.length; k++) {
      const c = text[k];
      if (quoted) {
        if (c === '"' && text[k + 1] === '"') { cell += '"'; k++; }
        else if (c === '"') quoted = false;
        else cell += c;
      } else if (c === '"') quoted = true;
      else if (c === ",") { row.push(cell); cell = ""; }
      else if (c === "\n") { row.push(cell); if (row.length > 1 || cell.trim()) rows.push(row); row = []; cell = ""; }
      else if (c !== "\r") cell += c;
    }
    if (quoted) throw new Error("a quote is left open in the file");
    row.push(cell);
    if (row.length > 1 || cell.trim()) rows.push(row);
    return rows;
  }

  const value = (cell) => {
    const trimmed = cell.trim();
    return trimmed === "" ? null : Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
  };

  const form = find("#make");
  let table = null;

  async function take(file) {
    const said = find('[role="alert"]', form);
    said.className = "";
    try {
      const [names, ...rows] = parse((await file.text()).replace(/^\uFEFF/, ""));
      const wrong = rows.findIndex((row) => row.length !== names.length);
      if (wrong >= 0) throw new Error(`row ${wrong + 1} has ${rows[wrong].length} values, the header has ${names.length} names`);
      if (!rows.length) throw new Error("the file has no rows below its header");
      table = { names: names.map((one) => one.trim()), rows };
      form.elements.target.replaceChildren(...table.names.map((one) => element("option", one)));
      form.elements.target.value = table.names[table.names.length - 1];
      form.elements.name.value = file.name.replace(/\.csv$/i, "").replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 64) || "model";
      find(".fields", form).hidden = false;
      said.textContent = `${number(rows.length)} rows, ${names.length} columns`;
      form.elements.name.focus();
    } catch (error) {
      table = null;
      said.textContent = error.message;
      said.className = "wrong";
    }
  }

  async function learn(event) {
    event.preventDefault();
    const said = find('[role="alert"]', form), bar = find("progress", form);
    const name = form.elements.name.value, target = form.elements.target.value, at = table.names.indexOf(target);
    const path = `/models/${encodeURIComponent(name)}`;
    const labelled = table.rows.filter((row) => row[at].trim() !== "");
    const dicts = labelled.map((row) => Object.fromEntries(row.map((cell, k) => [table.names[k], value(cell)])));
    said.className = "";
    bar.hidden = false;
    try {
      await ask(path, { method: "PUT", body: JSON.stringify({ target, learner: form.elements.learner.value }) });
      const run = crypto.randomUUID?.() ?? String(Math.random());
      for (let start = 0; start < dicts.length; start += ROWS_AT_ONCE) {
        const rows = dicts.slice(start, start + ROWS_AT_ONCE);
        await ask(`${path}/learn`, { method: "POST", body: JSON.stringify({ rows, request_id: `${run} ${start}` }) });
        bar.value = (start + rows.length) / dicts.length;
        said.textContent = `${number(start + rows.length)} of ${number(dicts.length)} rows`;
      }
      const left = table.rows.length - labelled.length;
      said.textContent += left ? `; ${number(left)} rows have no ${target} and were left out` : "";
      location.hash = encodeURIComponent(name);
    } catch (error) {
      said.textContent = error.message;
      said.className = "wrong";
    } finally {
      bar.hidden = true;
    }
  }

  async function download(file) {
    try {
      const data = await (await ask(`/models/${encodeURIComponent(state.shown)}/${file}`)).blob();
      const link = element("a", "", { href: URL.createObjectURL(data), download: file === "model.onkel" ? `${state.shown}.onkel` : `${state.shown}.html` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch (error) {
      say(error.message, "lost");
    }
  }

  const drop = find(".drop");
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
  form.elements.file.addEventListener("change", () => form.elements.file.files.length && take(form.elements.file.files[0]));
  form.addEventListener("submit", learn);
  find("#token").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("onkel token", event.target.elements.token.value);
    location.reload();
  });
  find("#download").addEventListener("click", () => download("model.onkel"));
  find("#report").addEventListener("click", () => download("report.html"));
  addEventListener("hashchange", show);
  addEventListener("resize", () => state.plot?.setSize({ width: find(".plot").clientWidth, height: 300 }));
  dark.addEventListener("change", redraw);
  listen();
})();
