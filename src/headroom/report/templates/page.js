"use strict";
/* Draws the interactive figures of what is unfolded, from the data in this file; the first screen
   needs no script. The chart library is unpacked when the first of them is seen. State, on the root
   element: data-state (static, drawing, done), data-drawn, data-empty, data-failed, data-problems. */
(() => {
  const root = document.documentElement;
  const problems = [];
  const note = (text) => {
    problems.push(String(text));
    root.dataset.problems = problems.join(" | ");
  };
  window.addEventListener("error", (event) => note(event.message));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));
  document.addEventListener("securitypolicyviolation", (event) => {
    note(`blocked ${event.violatedDirective} ${event.blockedURI}`);
  });

  /* Data that is long is packed: base64 of gzip. */
  async function textOf(id) {
    const { textContent: text, dataset } = document.getElementById(id);
    if (!dataset.packed) return text;
    const packed = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream(dataset.packed));
    return new Response(unpacked).text();
  }
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  all(".needs-script").forEach((element) => { element.hidden = false; });

  /* What is selected: the point and metric of each experiment, the held levels of a figure. */
  const selected = new Map();
  const held = new Map();
  let report = null;
  let results = null;
  let pointsOf = null;

  async function readData() {
    report = JSON.parse(await textOf("figures"));
    results = JSON.parse(await textOf("results"));
    pointsOf = new Map(results.experiments.map((experiment) => [
      experiment.name, new Map(experiment.points.map((point) => [point.key, point])),
    ]));
    for (const panel of all(".choose")) choosePoint(panel);
  }
  /* The policy of the page knows the library by its hash. */
  async function readLibrary() {
    const library = document.createElement("script");
    library.textContent = await textOf("library");
    document.head.append(library);
  }
  let reading = null;
  const readOnce = () => { reading ??= Promise.all([readData(), readLibrary()]); return reading; };

  const isDark = () => (root.dataset.scheme
    ? root.dataset.scheme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches);

  /* Rows of a selected point. */
  const BINS = 64;
  const STEPS = 400;
  const LOG_SPAN = 20;
  const shortly = (value) => Number(value.toPrecision(3)).toString();

  function quantileSpan(bins, total) {
    let seen = 0;
    let first = null;
    for (const bin of bins) {
      seen += bin.count;
      if (first === null && seen >= 0.01 * total) first = bin;
      if (seen >= 0.999 * total) return [first, bin];
    }
    return [bins[0], bins[bins.length - 1]];
  }

  function binsOf(distribution, factor) {
    return distribution.counts
      .map((count, i) => ({ low: distribution.low[i] * factor, high: distribution.high[i] * factor, count }))
      .filter((bin) => bin.count > 0 && Number.isFinite(bin.high))
      .sort((a, b) => a.low - b.low);
  }

  /* One bar for each whole number, centred on it. */
  function numbers(bins, total) {
    const rows = bins.map((bin) => ({
      low: bin.low - 0.5,
      high: bin.high - 0.5,
      range: bin.high - bin.low > 1 ? `${bin.low} to ${bin.high - 1}` : String(bin.low),
      count: bin.count,
      share: (100 * bin.count) / total,
    }));
    return { rows, scale: "linear", top: 1.45 * Math.max(...rows.map((row) => row.share)) };
  }

  function histogram(distribution, choice) {
    const bins = binsOf(distribution, choice.factor);
    const total = bins.reduce((sum, bin) => sum + bin.count, 0);
    if (!total) return { rows: [], scale: "linear" };
    if (choice.is_number && bins.length <= BINS) return numbers(bins, total);
    const [first, last] = quantileSpan(bins, total);
    const isLog = last.high / Math.max(first.high, Number.MIN_VALUE) > LOG_SPAN;
    const [to, from] = isLog ? [Math.log, Math.exp] : [(x) => x, (x) => x];
    const floor = isLog ? first.high / 4 : -Infinity;
    const start = to(Math.max(bins[0].low, floor));
    const end = to(last.high);
    const width = (end - start) / BINS || 1;
    const counts = new Array(BINS).fill(0);
    const place = (x) => Math.max((to(Math.max(x, floor)) - start) / width, 0);
    for (const bin of bins) {
      const [a, b] = [place(bin.low), place(bin.high)];
      const span = b - a || 1;
      for (let i = Math.floor(a); i < Math.max(b, a + 1e-9) && i < BINS; i += 1) {
        const part = b > a ? (Math.min(b, i + 1) - Math.max(a, i)) / span : 1;
        counts[i] += Math.max(part, 0) * bin.count;
      }
    }
    const rows = counts.map((count, i) => {
      const [low, high] = [from(start + i * width), from(start + (i + 1) * width)];
      const range = `${shortly(low)} to ${shortly(high)}`;
      return { low, high, range, count: Math.round(count), share: (100 * count) / total };
    });
    const top = 1.45 * Math.max(...rows.map((row) => row.share));
    return { rows: rows.filter((row) => row.share > 0), scale: isLog ? "log" : "linear", top };
  }

  function cumulative(distribution, choice) {
    const bins = binsOf(distribution, choice.factor);
    const total = bins.reduce((sum, bin) => sum + bin.count, 0);
    if (!total) return { rows: [], scale: "linear" };
    const [first, last] = quantileSpan(bins, total);
    const step = Math.ceil(bins.length / STEPS);
    const rows = [];
    let seen = 0;
    bins.forEach((bin, i) => {
      seen += bin.count;
      if ((i % step === 0 && bin.high <= last.high) || bin === last) {
        const at = choice.is_number ? bin.high - 1 : bin.high;
        rows.push({ at, range: shortly(at), share: (100 * seen) / total });
      }
    });
    if (bins[0].low > 0) rows.unshift({ at: bins[0].low, range: shortly(bins[0].low), share: 0 });
    const isLog = rows[0].at > 0 && last.high / first.high > LOG_SPAN;
    return { rows, scale: isLog ? "log" : "linear" };
  }

  /* Near zero an axis begins there, with no room on that side: as roomy_scale of channels.py. */
  const roomyScale = (low, high) => (low >= 0 && low <= 0.25 * (high - low)
    ? { "@domain": [0, high / 0.9 || 1], "@nice": false, "@padding": undefined }
    : { "@domain": undefined, "@nice": undefined, "@padding": 12 });

  function samples(distribution, choice) {
    const rows = distribution.samples.map((value, i) => ({
      value: value * choice.factor,
      index: i + 1,
      lane: ((i * 0.618034) % 1) - 0.5,
    }));
    const values = rows.map((row) => row.value);
    return { rows, room: roomyScale(Math.min(...values), Math.max(...values)) };
  }

  function warmUp(point, words) {
    const cut = point.warm_up;
    const step = Math.ceil(cut.values.length / 2000) || 1;
    const rows = cut.values
      .map((value, i) => ({ time: cut.times_s[i] * words.time_factor, value: value * words.factor }))
      .filter((row, i) => i % step === 0 && Number.isFinite(row.value));
    return { rows, cut: [cutOf(cut, words, words.time_factor)] };
  }

  function cutOf(warmUp, words, factor) {
    const isLate = warmUp.cut_s > 0.4 * warmUp.run_s;
    return { start: 0, end: warmUp.cut_s * factor, label: words.cut_label, is_late: isLate };
  }

  /* The line of the chosen part and quantity; a quantity that a part lacks gives way to its first. */
  function overTime(point, choice, { part, quantity }) {
    const words = choice.series;
    const chosen = words.parts.find((one) => one.name === part) ?? words.parts[0];
    const line = chosen.metrics.find((one) => one.metric === quantity) ?? chosen.metrics[0];
    const { step_s: step, lines } = point.series;
    const rows = lines[line.place].values.map((value, i) => ({
      time: (i + 1) * step * words.time_factor,
      value: value === null ? null : value * line.factor,
    }));
    const top = 1.2 * Math.max(0, ...rows.map((row) => row.value ?? 0)) || 1;
    rows.unshift({ time: 0, value: rows[0].value });
    const cut = point.warm_up?.cut_s > 0
      ? [cutOf(point.warm_up, choice.warm_up, words.time_factor)] : [];
    return { rows, cut, words: { "@time": words.time_title, "@series": line.title, "@top": top } };
  }

  /* A cell for each length of response time in each stretch of each replication. */
  function latencyMap({ latency: map }, words) {
    const length = (place) => map.shortest_s * map.ratio ** place * words.factor;
    const time = (place) => place * map.step_s * words.time_factor;
    const rows = map.stretches.flatMap((stretch, at) => stretch.map((place, i) => (i % 2 ? null : {
      from: time(at),
      to: time(at + 1),
      low: length(place),
      high: length(place + 1),
      share: stretch[i + 1] / 1e3,
      run: Math.floor(at / map.per_run) + 1,
    })).filter(Boolean));
    return { rows, edges: words.edges, words: words.titles };
  }

  function stations(choice, field) {
    const rows = choice.stations.filter((row) => row[field]).map((row) => ({
      label: row.label, kind: row.kind, limits: row.limits, wait: row.wait, ...row[field],
    }));
    return { rows, words: { "@height": 90 + 32 * rows.length } };
  }

  function detailRows(figure) {
    const { key, metric, ...over } = selected.get(figure.experiment) ?? {};
    const choice = report.experiments[figure.experiment].points.find((point) => point.key === key);
    const point = pointsOf.get(figure.experiment)?.get(key);
    if (!choice || !point) return { rows: [] };
    if (figure.detail === "utilization" || figure.detail === "queue") {
      return stations(choice, figure.detail);
    }
    if (figure.detail === "states") {
      const bars = new Set(choice.states.map((row) => row.class)).size;
      return { rows: choice.states, words: { "@height": 130 + 34 * bars } };
    }
    if (figure.detail === "warm_up") {
      if (!point.warm_up?.values?.length) return { rows: [] };
      const words = { "@time": choice.warm_up.time_title, "@warm_up": choice.warm_up.title };
      return { ...warmUp(point, choice.warm_up), words };
    }
    if (figure.detail.startsWith("course_")) return choice.course[figure.detail] ?? { rows: [] };
    if (figure.detail === "series") {
      return choice.series && point.series ? overTime(point, choice, over) : { rows: [] };
    }
    if (figure.detail === "latency") {
      return point.latency ? latencyMap(point, choice.latency) : { rows: [] };
    }
    const place = choice.metrics.findIndex((item) => item.metric === metric);
    if (place < 0) return { rows: [] };
    const found = { histogram, cumulative, samples }[figure.detail](
      point.distributions[place], choice.metrics[place],
    );
    const { rows, scale, top, room } = found;
    const [left, right] = [rows[0]?.low ?? 0, rows[rows.length - 1]?.high ?? 0];
    const late = scale === "log" ? left ** 0.3 * right ** 0.7 : left + 0.7 * (right - left);
    const marks = choice.metrics[place].marks.map((mark, lane) => ({
      ...mark, lane, is_late: mark.at > late,
    }));
    /* A log scale knows no zero: undefined removes the key. */
    const zero = scale === "log" ? undefined : false;
    const title = choice.metrics[place].title;
    const words = { "@metric": title, "@scale": scale, "@zero": zero, "@top": top, ...room };
    return { rows, marks, words };
  }

  /* Drawing. */
  const fill = (value, words) => JSON.parse(JSON.stringify(value), (_, item) => (
    typeof item === "string" && item in words ? words[item] : item));

  function rowsOf(figure) {
    if (figure.detail) return detailRows(figure);
    const hold = held.get(figure.key) ?? figure.holds[0];
    const isHeld = (row) => hold === undefined || row.hold === hold;
    return { rows: figure.rows.filter(isHeld), isHeld };
  }

  function keepHeld(spec, isHeld) {
    for (const layer of spec.layer ?? []) {
      if (isHeld && layer.data?.values) layer.data.values = layer.data.values.filter(isHeld);
    }
    return spec;
  }

  /* A figure in a panel of `width` (px): what does not fit is cut by the edge of the picture. */
  const LETTER_PX = 6.2;
  const ENTRY_PX = 34;
  const LINE_PX = 15;
  const PHONE_PX = 480;
  const lengthOf = (labels) => LETTER_PX * Math.max(0, ...labels.map((label) => String(label).length));
  const different = (rows, field) => [...new Set(rows.map((row) => row[field]))].filter((one) => one != null);

  function fit(spec, rows, width) {
    if (!width) return spec; // a panel that is not shown has none
    const units = [spec, ...(spec.layer ?? [])].map((unit) => unit.encoding ?? {});
    const room = width - fitNames(units, rows, 0.45 * width);
    const lines = units.map((channels) => {
      fitTitle(channels.x, room);
      return fitLegends(channels, rows, room);
    });
    if (typeof spec.height === "number") spec.height += (Math.max(...lines) - 1) * LINE_PX;
    // Titles of axes, and on a phone their last numbers, reach beyond what Vega measures.
    spec.padding = { left: 12, top: 5, right: width < PHONE_PX ? 22 : 8, bottom: 5 };
    return spec;
  }

  /* Let names of rows take `most` px at most; return what stands left of the plot. */
  function fitNames(units, rows, most) {
    const named = units.map((unit) => unit.y).filter((y) => y?.type === "nominal");
    for (const y of named) y.axis = { ...y.axis, labelLimit: Math.min(y.axis?.labelLimit ?? 180, most) };
    return named.length ? Math.min(lengthOf(different(rows, named[0].field)), most) + 30 : 80;
  }

  /* Factors that vary together are named below each other where a line has no room for them. */
  function fitTitle(axis, room) {
    if (typeof axis?.title === "string" && lengthOf([axis.title]) > room) {
      axis.title = axis.title.split(/(?<= \/) /);
    }
  }

  /* Let legends have as many columns as there is room for; return their lines. */
  function fitLegends(channels, rows, room) {
    let lines = 1;
    for (const name of ["color", "fill", "shape", "strokeDash"]) {
      const channel = channels[name];
      if (!channel?.field || channel.type !== "nominal" || channel.legend === null) continue;
      const domain = channel.legend?.values ?? channel.scale?.domain ?? channel.sort;
      const labels = Array.isArray(domain) ? domain : different(rows, channel.field);
      const fitting = Math.max(1, Math.floor(room / (ENTRY_PX + lengthOf(labels))));
      const columns = Math.min(fitting, channel.legend?.columns ?? labels.length);
      channel.legend = { ...channel.legend, titleLimit: room };
      if (columns >= labels.length) continue;
      channel.legend.columns = columns;
      lines = Math.max(lines, Math.ceil(labels.length / columns));
    }
    return lines;
  }

  function countMarks(item) {
    const children = item.items ?? [];
    if (item.marktype && item.marktype !== "group") return item.role === "mark" ? children.length : 0;
    return children.reduce((sum, child) => sum + countMarks(child), 0);
  }

  function show(holder, state, text) {
    holder.dataset.state = state;
    if (text) holder.textContent = text;
  }

  const OF_METRIC = ["histogram", "cumulative", "samples", "latency"];
  const views = new Map();
  async function draw(figure) {
    const holder = document.querySelector(`[data-figure="${CSS.escape(figure.key)}"]`);
    views.get(figure.key)?.finalize();
    views.delete(figure.key);
    const { rows, words, isHeld, ...datasets } = rowsOf(figure);
    // A metric has a histogram or samples, seldom both: panels that have nothing to show go away.
    holder.closest(".panel").hidden = !rows.length && OF_METRIC.includes(figure.detail);
    if (!rows.length) {
      holder.replaceChildren();
      return show(holder, "empty", "No data for this point.");
    }
    const spec = fit(keepHeld(fill(figure.spec, words ?? {}), isHeld), rows, holder.clientWidth);
    spec.datasets = { ...datasets, rows };
    // A layer without rows has no extent, which Vega warns of.
    if (spec.layer) spec.layer = spec.layer.filter((layer) => spec.datasets[layer.data?.name]?.length !== 0);
    const dark = isDark();
    const shown = await vegaEmbed(holder, spec, {
      mode: "vega-lite",
      renderer: rows.length > 1500 ? "canvas" : "svg",
      config: report.themes[dark ? "dark" : "light"],
      tooltip: { theme: "headroom" },
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: `${report.name}-${figure.key}`,
    });
    views.set(figure.key, shown);
    const marks = countMarks(shown.view.scenegraph().root);
    holder.dataset.marks = marks;
    return show(holder, marks > 0 ? "drawn" : "failed");
  }

  function countStates() {
    for (const state of ["drawn", "empty", "failed"]) {
      root.dataset[state] = all(`.chart[data-state="${state}"]`).length;
    }
  }

  const isShown = (figure) => {
    const holder = document.querySelector(`[data-figure="${CSS.escape(figure.key)}"]`);
    return holder !== null && holder.closest("details:not([open])") === null;
  };
  /* One loop draws at a time; whatever is asked for meanwhile waits in the set. Folded figures are
     drawn when they are unfolded: before, they have no width. */
  const waiting = new Set();
  let isLooping = false;
  async function drawAll(choose = () => true) {
    root.dataset.drawnScheme = isDark() ? "dark" : "light";
    if (!all(".chart").some((chart) => chart.closest("details:not([open])") === null)) return;
    root.dataset.state = "drawing";
    await readOnce();
    report.figures.filter((one) => choose(one) && isShown(one)).forEach((one) => waiting.add(one));
    if (isLooping) return;
    isLooping = true;
    for (const figure of waiting) {
      waiting.delete(figure);
      try {
        await draw(figure);
      } catch (problem) {
        note(`${figure.key}: ${problem}`);
        const holder = document.querySelector(`[data-figure="${CSS.escape(figure.key)}"]`);
        show(holder, "failed", "This figure could not be drawn; the table holds its numbers.");
      }
    }
    isLooping = false;
    countStates();
    root.dataset.state = "done";
  }

  /* Choices. */
  function choosePoint(panel) {
    const name = panel.dataset.experiment;
    const key = panel.querySelector(".choose-point").value;
    const choice = report.experiments[name].points.find((point) => point.key === key);
    const metrics = choice?.metrics ?? [];
    const select = panel.querySelector(".choose-metric");
    const before = select.value;
    select.replaceChildren(...metrics.map((item) => new Option(item.name, item.metric)));
    if (metrics.some((item) => item.metric === before)) select.value = before;
    panel.querySelector(".choose-metric-label").hidden = metrics.length < 2;
    panel.querySelector(".remarks").replaceChildren(...(choice?.remarks ?? []).map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    selected.set(name, { key, metric: select.value, ...chooseSeries(name, choice) });
  }

  const offer = (select, options) => {
    const before = select.value;
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    if (options.some(([value]) => value === before)) select.value = before;
  };
  /* Offer the parts of a point, and the quantities of the chosen part; keep what is chosen. */
  function chooseSeries(name, choice) {
    const part = document.querySelector(`[data-series-part="${CSS.escape(name)}"]`);
    const quantity = document.querySelector(`[data-series-metric="${CSS.escape(name)}"]`);
    const parts = choice?.series?.parts ?? [];
    if (!part || !parts.length) return {};
    offer(part, parts.map((one) => [one.name, one.name]));
    const { metrics } = parts.find((one) => one.name === part.value);
    offer(quantity, metrics.map((one) => [one.metric, one.name]));
    return { part: part.value, quantity: quantity.value };
  }

  const isDetailOf = (name) => (figure) => Boolean(figure.detail) && figure.experiment === name;
  for (const panel of all(".choose")) {
    panel.addEventListener("change", () => {
      choosePoint(panel);
      drawAll(isDetailOf(panel.dataset.experiment));
    });
  }
  for (const select of all("[data-series-part], [data-series-metric]")) {
    const name = select.dataset.seriesPart ?? select.dataset.seriesMetric;
    select.addEventListener("change", () => {
      choosePoint(document.querySelector(`.choose[data-experiment="${CSS.escape(name)}"]`));
      drawAll((figure) => isDetailOf(name)(figure) && figure.detail === "series");
    });
  }
  for (const select of all("[data-hold]")) {
    select.addEventListener("change", () => {
      held.set(select.dataset.hold, select.value);
      drawAll((figure) => figure.key === select.dataset.hold);
    });
  }
  for (const fold of all("details")) {
    fold.addEventListener("toggle", () => {
      if (!fold.open) return;
      const within = new Set(all(".chart", fold).map((chart) => chart.dataset.figure));
      if (within.size) drawAll((figure) => within.has(figure.key) && !views.has(figure.key));
    });
  }
  /* A link to what is folded unfolds it. */
  function unfold() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target; fold; fold = fold.parentElement?.closest("details")) {
      if (fold.tagName === "DETAILS") fold.open = true;
    }
    target?.scrollIntoView();
  }
  window.addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  /* Tables. */
  function compare(a, b) {
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
    const difference = Number(a) - Number(b);
    return Number.isNaN(difference) ? a.localeCompare(b, "en", { numeric: true }) : difference;
  }
  function sortBy(table, column, head) {
    const rises = head.getAttribute("aria-sort") !== "ascending";
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rises ? "ascending" : "descending");
    const keyOf = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
    const rows = all("tbody tr", table).map((row) => [keyOf(row), row]);
    rows.sort(([a], [b]) => (rises || a === "" || b === "" ? compare(a, b) : compare(b, a)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, column, head));
      head.append(button);
    });
  }

  /* Scheme, copy, download, print. */
  const scheme = document.getElementById("scheme");
  scheme.addEventListener("click", () => {
    root.dataset.scheme = isDark() ? "light" : "dark";
    drawAll();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!root.dataset.scheme) drawAll();
  });
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        window.getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
  document.getElementById("download")?.addEventListener("click", async () => {
    const blob = new Blob([await textOf("results")], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${root.dataset.study}-results.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  window.addEventListener("beforeprint", () => {
    all("details.printed").forEach((element) => { element.open = true; });
  });

  root.dataset.state = "done";
  drawAll();
})();
