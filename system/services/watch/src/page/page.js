// The page of the system, and what its other scripts build on: they are loaded in the order of the
// page, `live.js` last, which begins. Everything that comes from the system is shown as text, never
// as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const node = (name, text, kind) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
};
// A part of a drawing, with attributes.
const drawn = (name, attributes = {}, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

// The key comes behind `#`, which browsers send to nobody, and leaves the address at once.
let key = sessionStorage.getItem("key") || "";
function takeKey() {
  if (!/^#[0-9a-f]{32}$/.test(location.hash)) return false;
  key = location.hash.slice(1);
  sessionStorage.setItem("key", key);
  history.replaceState(null, "", location.pathname);
  return true;
}
takeKey();
// An address with another key, opened in the same tab, loads nothing by itself.
addEventListener("hashchange", () => { if (takeKey()) location.reload(); });

const seen = { last: null, before: null, control: false, why: "", paused: false };

// ---- Figures as words ----

const bytes = (count) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (count >= 1024 && at < 4) { count /= 1024; at += 1; }
  return `${at && count < 100 ? count.toFixed(1) : Math.round(count)} ${units[at]}`;
};
const time = (microseconds) => {
  const s = microseconds / 1e6;
  if (s < 1) return `${(s * 1000).toFixed(1)} ms`;
  if (s < 60) return `${s.toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  const h = Math.floor(s / 3600);
  if (h < 48) return `${h} h ${Math.floor(s / 60) % 60} min`;
  return `${Math.floor(h / 24)} d ${h % 24} h`;
};
const share = (part) => `${(100 * part).toFixed(1)} %`;

// ---- Tiles with the last two minutes ----

const HISTORY = 120;
const tiles = new Map();
function tile(name, value, words, most, beside) {
  let of = tiles.get(name);
  if (!of) {
    const box = node("div", undefined, "tile");
    const svg = drawn("svg", { viewBox: `0 0 ${HISTORY} 30`, preserveAspectRatio: "none",
      "aria-hidden": "true" });
    const line = drawn("polyline", { fill: "none", stroke: "currentColor", "stroke-width": "1.5",
      "vector-effect": "non-scaling-stroke" });
    svg.append(line);
    of = { number: node("b"), name: node("span", name), line, values: [] };
    box.append(of.name, of.number, svg);
    $("tiles").append(box);
    tiles.set(name, of);
  }
  of.number.textContent = words;
  if (beside) of.name.textContent = `${name} ${beside}`;
  of.values.push(value);
  if (of.values.length > HISTORY) of.values.shift();
  const top = most || Math.max(...of.values) * 1.1 || 1;
  const from = HISTORY - of.values.length;
  of.line.setAttribute("points", of.values
    .map((v, i) => `${from + i},${(29 - 28 * Math.min(1, v / top)).toFixed(1)}`).join(" "));
}

// ---- Tables: rows are kept by their key, so that focus and selection stay ----

function table(id, title, columns, order, before = null) {
  const section = node("section", undefined, "table");
  section.id = id;
  const head = node("header");
  const count = node("p");
  head.append(node("h2", title), count);
  const scroll = node("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", title);
  const inner = node("table");
  const row = node("tr");
  const of = {
    columns, order, rows: new Map(), body: node("tbody"), count, sort: null, down: false,
  };
  for (const column of columns) {
    const cell = node("th", undefined, column.kind);
    cell.scope = "col";
    if (column.by) {
      const button = node("button", column.name);
      button.type = "button";
      button.addEventListener("click", () => {
        // Down, up, and as it was.
        if (of.sort !== column) { of.sort = column; of.down = true; }
        else if (of.down) of.down = false;
        else of.sort = null;
        for (const c of columns) c.cell.removeAttribute("aria-sort");
        if (of.sort) cell.setAttribute("aria-sort", of.down ? "descending" : "ascending");
        show();
      });
      cell.append(button);
    } else cell.textContent = column.name;
    column.cell = cell;
    row.append(cell);
  }
  const thead = node("thead");
  thead.append(row);
  inner.append(thead, of.body);
  scroll.append(inner);
  of.scroll = scroll;
  section.append(head, scroll);
  $("main").insertBefore(section, before);
  return of;
}

const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));

function fill(of, all, beside = "") {
  const wanted = $("filter").value.trim().toLowerCase();
  let rows = all.rows.filter((r) => !wanted || of.columns.some((c) => c.find
    && String(c.find(r)).toLowerCase().includes(wanted)));
  if (of.sort) {
    rows = [...rows].sort((a, b) => (of.down ? -1 : 1) * compare(of.sort.by(a), of.sort.by(b)));
  } else if (of.order && !wanted) rows = of.order(rows);
  const gone = new Set(of.rows.keys());
  let at = of.body.firstChild;
  for (const data of rows) {
    const name = String(data.key);
    gone.delete(name);
    let row = of.rows.get(name);
    if (!row) {
      row = { line: node("tr"), cells: of.columns.map((c) => node("td", undefined, c.kind)), data };
      row.line.append(...row.cells);
      of.columns.forEach((c, i) => c.make && c.make(row.cells[i], () => row.data));
      of.rows.set(name, row);
    }
    row.data = data;
    of.columns.forEach((c, i) => {
      if (c.update) { c.update(row.cells[i], data); return; }
      const text = String(c.text(data));
      if (row.cells[i].textContent !== text) row.cells[i].textContent = text;
      if (c.tone) row.cells[i].className = `${c.kind || ""} ${c.tone(data)}`.trim();
    });
    if (at === row.line) at = at.nextSibling;
    else of.body.insertBefore(row.line, at);
  }
  for (const name of gone) {
    const { line } = of.rows.get(name);
    // Who is in a row that goes stays in its table.
    if (line.contains(document.activeElement)) of.scroll.focus({ preventScroll: true });
    line.remove();
    of.rows.delete(name);
  }
  const total = all.rows.length + all.left;
  const shown = rows.length === total ? `${total}` : `${rows.length} of ${total}`;
  const left = all.left ? "; the others do not fit into an event" : "";
  of.count.textContent = `${shown}${left}${beside}`;
}
