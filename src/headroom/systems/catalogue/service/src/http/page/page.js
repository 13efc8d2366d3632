"use strict";
// The secret stays in this variable: nothing of it is stored.
let authorization = "";
let timer = 0;
const REFRESH_MS = 5000;
const at = (id) => document.getElementById(id);

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

async function ask(address) {
  const headers = authorization ? { Authorization: authorization } : {};
  const response = await fetch(address, { headers, credentials: "omit" });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail ?? response.statusText);
  return answer;
}

/** Columns: title, value of a row, class of the cell. */
function fill(table, rows, columns) {
  const head = element("tr");
  for (const [title, , className] of columns) head.append(element("th", title, className));
  const lines = rows.map((row) => {
    const line = element("tr");
    for (const [, value, className] of columns) line.append(element("td", value(row), className));
    return line;
  });
  if (lines.length === 0) {
    const cell = element("td", "none");
    cell.colSpan = columns.length;
    lines.push(element("tr"));
    lines[0].append(cell);
  }
  table.replaceChildren(head, ...lines);
}

const ms = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
const whole = (value) => value.toLocaleString("en");

function duration(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, name] = units.find(([unit]) => seconds >= unit) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${name}`;
}

function show(state) {
  at("summary").textContent =
    `version ${state.version}, up ${duration(state.up_s)}${state.is_draining ? ", draining" : ""}`;
  const { all, http, most } = state.connections;
  const { full = 0, resumed = 0, failed = 0 } = state.handshakes;
  const numbers = [
    ["connections", `${whole(all)} of ${whole(most)}`], ["of them HTTP", whole(http)],
    ["TLS handshakes full", whole(full)], ["resumed", whole(resumed)], ["failed", whole(failed)],
    ["statements repeated", whole(state.repeated)],
  ];
  at("numbers").replaceChildren(...numbers.map(([name, value]) => {
    const box = element("div");
    box.append(element("span", name), element("b", value));
    return box;
  }));
  fill(at("pools"), state.pools, [
    ["Database", (row) => row.database, "code"],
    ["In use", (row) => whole(row.open - row.idle), "number"],
    ["Open", (row) => whole(row.open), "number"],
    ["Most", (row) => whole(row.size), "number"],
    ["Waiting", (row) => whole(row.waiting), "number"],
    ["Statements", (row) => whole(row.statements), "number"],
  ]);
  const many = (title) => [
    [title, (row) => row.name, "code"], ["Connections", (row) => whole(row.count), "number"],
  ];
  fill(at("persons"), state.persons, many("Person"));
  fill(at("addresses"), state.addresses, many("Address"));
  fill(at("slow"), state.slow, [
    ["Time (ms)", (row) => ms(row.took_ms), "number"],
    ["Command", (row) => row.command, "code"],
    ["On", (row) => row.shape, "code"],
    ["Person", (row) => row.person],
    ["Code", (row) => whole(row.code), "number"],
    ["Ended", (row) => new Date(row.ended_s * 1000).toLocaleTimeString(), "number"],
  ]);
  fill(at("commands"), state.commands, [
    ["Command", (row) => row.command, "code"],
    ["Count", (row) => whole(row.count), "number"],
    ["Refused", (row) => whole(row.failed), "number"],
    ["Mean (ms)", (row) => ms(row.mean_ms), "number"],
  ]);
}

/** Append the directories below a path, a page at a time. */
async function grow(list, path, page = "") {
  const query = new URLSearchParams(page ? { path, page } : { path });
  const answer = await ask(`/v1/directories?${query}`);
  for (const { name, owner } of answer.directories) {
    list.append(branch(path === "/" ? `/${name}` : `${path}/${name}`, name, owner));
  }
  if (answer.next) {
    const more = element("button", "more");
    const item = element("li");
    more.type = "button";
    more.addEventListener("click", () => {
      item.remove();
      grow(list, path, answer.next).catch(fail);
    });
    item.append(more);
    list.append(item);
  }
  if (list.children.length === 0) list.append(element("li", "no directories", "note"));
}

function branch(path, name, owner) {
  const fold = element("details");
  const title = element("summary", name, "code");
  title.append(element("small", owner));
  const list = element("ul");
  fold.append(title, list);
  fold.addEventListener("toggle", () => {
    if (fold.open && list.children.length === 0) grow(list, path).catch(fail);
  });
  const item = element("li");
  item.append(fold);
  return item;
}

function fail(error) {
  at("fault").textContent = error.message;
  clearInterval(timer);
  at("login").hidden = false;
}

async function refresh() {
  show(await ask("/v1/admin"));
}

async function begin() {
  await refresh();
  at("fault").textContent = "";
  at("login").hidden = true;
  at("state").hidden = false;
  const roots = element("ul");
  roots.append(branch("/", "/", "root"));
  at("tree").replaceChildren(roots);
  roots.querySelector("details").open = true;
  clearInterval(timer);
  timer = setInterval(() => refresh().catch(fail), REFRESH_MS);
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = at("name").value;
  const secret = at("secret").value;
  const bytes = new TextEncoder().encode(`${name}:${secret}`);
  const basic = () => btoa(String.fromCharCode(...bytes));
  authorization = name ? `Basic ${basic()}` : secret ? `Bearer ${secret}` : "";
  at("secret").value = "";
  begin().catch(fail);
});
