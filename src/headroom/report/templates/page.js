"use strict";
/* The page is whole without this script, which adds: values at the pointer, a series singled out by a
   click on its name, other points and choices, tables sorted by a click. State, on the root element:
   data-state (static, drawing, done), data-problems. */
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
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  all(".needs-script").forEach((element) => { element.hidden = false; });

  /* Data that is long is packed: base64 of gzip. */
  async function textOf(id) {
    const { textContent: text, dataset } = document.getElementById(id);
    if (!dataset.packed) return text;
    const packed = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream(dataset.packed));
    return new Response(unpacked).text();
  }
  let reading = null;
  const read = () => { reading ??= textOf("pictures").then(JSON.parse); return reading; };

  /* Choices: a point of an experiment, and what a panel offers itself. */
  const first = new Map();
  const chooserOf = (name) => document.querySelector(`.choose[data-experiment="${CSS.escape(name)}"]`);
  async function redraw(charts) {
    root.dataset.state = "drawing";
    const { pictures } = await read();
    for (const chart of charts) {
      const { figure, experiment, shown } = chart.dataset;
      const point = experiment ? chooserOf(experiment).querySelector("select").value : "";
      const own = chart.closest(".panel").querySelector("[data-choose]")?.value ?? "";
      const choice = `${point}\t${own}`;
      if (!first.has(chart)) first.set(chart, chart.dataset.state === "drawn" ? chart.innerHTML : "");
      const picture = choice === shown ? first.get(chart) : pictures[figure]?.[choice];
      chart.innerHTML = picture || "";
      if (!picture) chart.textContent = "No data for this point.";
      chart.dataset.state = picture ? "drawn" : "empty";
    }
    root.dataset.state = "done";
  }
  for (const select of all("[data-choose]")) {
    select.addEventListener("change", () => redraw(all(".chart", select.closest(".panel"))));
  }
  for (const chooser of all(".choose")) {
    const name = chooser.dataset.experiment;
    chooser.querySelector("select").addEventListener("change", async (event) => {
      await redraw(all(`.chart[data-experiment="${CSS.escape(name)}"]`));
      const { remarks } = await read();
      chooser.querySelector(".remarks").replaceChildren(
        ...(remarks[name]?.[event.target.value] ?? []).map((text) => {
          const item = document.createElement("li");
          item.textContent = text;
          return item;
        }),
      );
    });
  }

  /* Values at the pointer: of the nearest mark, or read off a dense line by the axes. */
  const NEAR_PX = 12;
  const SMALL_PX = 24;
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const shortly = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  /* The browser would show its own tip of a title, beside this one. */
  function takeTitles(svg) {
    for (const title of all("title", svg)) {
      title.parentElement.dataset.hint = title.textContent;
      title.remove();
    }
  }
  function markAt(svg, x, y) {
    let nearest = null;
    let least = NEAR_PX;
    for (const mark of all("[data-hint]", svg)) {
      const { left, right, top, bottom } = mark.getBoundingClientRect();
      if (right - left > SMALL_PX || bottom - top > SMALL_PX) continue;
      const away = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
      const middle = 0.01 * Math.hypot((left + right) / 2 - x, (top + bottom) / 2 - y);
      if (away + middle < least) [nearest, least] = [mark, away + middle];
    }
    return nearest;
  }
  function axisOf(text) {
    const [, start, end, low, high, scale, title] = text.match(/^(\S+) (\S+) (\S+) (\S+) (\S+) (.*)$/);
    const [to, from] = scale === "log" ? [Math.log, Math.exp] : [Number, Number];
    const at = (px) => (px - start) / (end - start);
    return { title, at, valueOf: (px) => from(to(low) + at(px) * (to(high) - to(low))) };
  }
  const corners = new WeakMap();
  function cornersOf(path) {
    if (!corners.has(path)) {
      let [x, y] = [0, 0];
      const steps = path.getAttribute("d").matchAll(/([MLHV])([-\d.]+)(?: ([-\d.]+))?/g);
      const pairs = [...steps].map(([, kind, a, b]) => {
        if (kind === "V") y = Number(a);
        else x = Number(a);
        if (b) y = Number(b);
        return [x, y];
      });
      corners.set(path, pairs);
    }
    return corners.get(path);
  }
  function readOff(svg, event, isPlain) {
    if (!svg.dataset.x) return [];
    const [across, up] = [axisOf(svg.dataset.x), axisOf(svg.dataset.y)];
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (across.at(place.x) < 0 || across.at(place.x) > 1) return [];
    const lines = all("[data-line]", svg).map((path) => {
      const [x, y] = cornersOf(path).reduce((a, b) => (
        Math.abs(b[0] - place.x) < Math.abs(a[0] - place.x) ? b : a));
      return Math.abs(x - place.x) < NEAR_PX ? [path.dataset.line || up.title, up.valueOf(y)] : null;
    }).filter(Boolean);
    if (isPlain && !lines.length) lines.push([up.title, up.valueOf(place.y)]);
    if (!lines.length) return [];
    return [[across.title, across.valueOf(place.x)], ...lines]
      .map(([title, value]) => `${title}: ${shortly(value)}`);
  }
  function point(event) {
    const svg = event.target.closest?.("svg.figure");
    if (svg) takeTitles(svg);
    const mark = svg && markAt(svg, event.clientX, event.clientY);
    const hint = (mark ?? (svg && event.target.closest("[data-hint]")))?.dataset.hint;
    const lines = svg ? [hint, ...(mark ? [] : readOff(svg, event, Boolean(hint)))].filter(Boolean) : [];
    tip.hidden = !lines.length;
    tip.textContent = lines.join("\n");
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, root.clientWidth - width - 4))}px`;
    const below = event.clientY + 16;
    tip.style.top = `${below + height > root.clientHeight ? event.clientY - height - 12 : below}px`;
  }
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);

  /* A click on the name of a series singles it out, in all drawings of its figure. */
  document.addEventListener("click", (event) => {
    const name = event.target.closest?.("[data-key]");
    const holder = name?.closest(".drawings");
    if (!holder) return;
    const { key } = name.dataset;
    const isOnly = holder.dataset.only === key;
    if (isOnly) delete holder.dataset.only;
    else holder.dataset.only = key;
    for (const part of all("[data-series], [data-key]", holder)) {
      part.classList.toggle("dim", !isOnly && (part.dataset.series ?? part.dataset.key) !== key);
    }
  });

  /* Pictures as files: with the styles of the page, so that they need nothing else. */
  function save(content, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  for (const button of all(".save")) {
    button.addEventListener("click", () => {
      const chart = button.closest(".panel").querySelector(".chart");
      const seen = all("svg", chart).find((svg) => svg.clientWidth > 0);
      if (!seen) return;
      const copy = seen.cloneNode(true);
      copy.prepend(document.querySelector("style").cloneNode(true));
      copy.style.display = "block";
      copy.style.background = "var(--panel)";
      save(new XMLSerializer().serializeToString(copy), "image/svg+xml",
        `${root.dataset.study}-${chart.dataset.figure}.svg`);
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
    const keyOf = (row) => {
      const { dataset, textContent: text } = row.cells[column];
      return dataset.sort ?? text.match(/^-?[\d,]*\.?\d+/)?.[0].replaceAll(",", "") ?? text;
    };
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
  document.getElementById("scheme").addEventListener("click", () => {
    const isDark = root.dataset.scheme
      ? root.dataset.scheme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.scheme = isDark ? "light" : "dark";
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
    save(await textOf("results"), "application/json", `${root.dataset.study}-results.json`);
  });
  window.addEventListener("beforeprint", () => {
    all("details.printed").forEach((element) => { element.open = true; });
  });
  root.dataset.state = "done";
})();
