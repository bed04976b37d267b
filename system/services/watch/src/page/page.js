// The page of the system. Everything that comes from the system is shown as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const node = (name, text, kind) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
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
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${HISTORY} 30`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    for (const [k, v] of [["fill", "none"], ["stroke", "currentColor"], ["stroke-width", "1.5"],
      ["vector-effect", "non-scaling-stroke"]]) line.setAttribute(k, v);
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

function table(id, title, columns, order) {
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
  $("main").append(section);
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

const N = "number";
const M = "minor";
// Without one of its own, a process may have what the machine has.
const isBudget = (b) => b !== null && seen.last && b < seen.last.memory.total / 2;
const cpu = (p) => p.cpu_share || 0;

// Parents before their children.
function tree(rows) {
  const children = new Map();
  const ids = new Set(rows.map((p) => p.id));
  for (const p of rows) {
    const parent = ids.has(p.parent) && p.parent !== p.id ? p.parent : 0;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(p);
  }
  const out = [];
  const stack = [...(children.get(0) || [])].reverse().map((p) => [p, 0]);
  while (stack.length) {
    const [p, depth] = stack.pop();
    p.depth = depth;
    out.push(p);
    for (const child of [...(children.get(p.id) || [])].reverse()) stack.push([child, depth + 1]);
  }
  return out;
}

function button(cell, words, run) {
  const made = node("button", words, words === "Kill" || words === "Stop" ? "danger" : "");
  made.type = "button";
  made.addEventListener("click", run);
  cell.append(made);
}
function buttons(cell, name, may, fits) {
  for (const b of cell.children) {
    b.hidden = fits !== undefined && !fits(b);
    b.disabled = !seen.control || !may(b);
    b.title = seen.control ? "" : seen.why;
    b.setAttribute("aria-label", `${b.textContent} ${name}`);
  }
}

const processes = table("processes", "Processes", [
  { name: "Name", by: (p) => p.name, find: (p) => p.name, update: (cell, p) => {
    const depth = processes.sort || $("filter").value.trim() ? 0 : p.depth || 0;
    const text = `${"\u2003".repeat(Math.min(depth, 12))}${depth ? "└ " : ""}${p.name}`;
    if (cell.textContent !== text) cell.textContent = text;
  } },
  { name: "Id", kind: N, by: (p) => p.id, find: (p) => p.id, text: (p) => p.id },
  { name: "State", kind: M, by: (p) => p.state, text: (p) => p.state,
    tone: (p) => (p.state === "suspended" ? "warn" : "quiet") },
  { name: "CPU", kind: N, by: cpu, text: (p) => share(cpu(p)),
    tone: (p) => (cpu(p) > 0.8 ? "warn" : "") },
  { name: "CPU time", kind: `${N} ${M}`, by: (p) => p.cpu, text: (p) => time(p.cpu) },
  { name: "Memory", kind: N, by: (p) => p.pages, text: (p) => bytes(p.pages * 4096) },
  { name: "Exchange", kind: `${N} ${M}`, by: (p) => p.exchange, text: (p) => bytes(p.exchange) },
  { name: "Charged", kind: `${N} ${M}`, by: (p) => p.charged,
    text: (p) => bytes(p.charged) + (isBudget(p.budget) ? ` of ${bytes(p.budget)}` : "") },
  { name: "Threads", kind: `${N} ${M}`, by: (p) => p.threads, text: (p) => p.threads },
  { name: "Handles", kind: `${N} ${M}`, by: (p) => p.handles, text: (p) => p.handles },
  { name: "Act", make: (cell, of) => button(cell, "Kill", () => act(
    `Kill ${of().name} (${of().id}) and what descends from it?`,
    `/system/kill?id=${of().id}&name=${encodeURIComponent(of().name)}`)),
  update: (cell, p) => buttons(cell, `${p.name} ${p.id}`, () => !p.essential) },
], tree);

const TONES = { up: "good", failed: "bad", delayed: "warn", stopped: "warn", pending: "warn" };
const services = table("services", "Services", [
  { name: "Name", by: (s) => s.name, find: (s) => s.name, text: (s) => s.name },
  { name: "State", by: (s) => s.state, find: (s) => s.state, text: (s) => s.state,
    tone: (s) => TONES[s.state] || "quiet" },
  { name: "Process", kind: `${N} ${M}`, by: (s) => s.process, text: (s) => s.process || "" },
  { name: "Restarts", kind: N, by: (s) => s.restarts, text: (s) => s.restarts,
    tone: (s) => (s.restarts ? "warn" : "quiet") },
  { name: "For", kind: `${N} ${M}`, by: (s) => s.since, text: (s) => time(s.since) },
  { name: "Act", make: (cell, of) => {
    for (const [words, verb] of [["Restart", "restart"], ["Stop", "stop"], ["Start", "start"]]) {
      button(cell, words, () => act(`${words} the service ${of().name}?`,
        `/system/service?name=${encodeURIComponent(of().name)}&do=${verb}`));
    }
  }, update: (cell, s) => buttons(cell, s.name, () => true,
    (b) => (b.textContent === "Start") === (s.process === 0)) },
  { name: "Reason", kind: "long", find: (s) => s.reason, text: (s) => s.reason },
]);

const names = table("names", "Name space", [
  { name: "Path", by: (n) => n.path, find: (n) => n.path, text: (n) => n.path },
  { name: "Kind", by: (n) => n.kind, text: (n) => n.kind, kind: "quiet" },
  { name: "Leads to, or contract", kind: "long", find: (n) => n.detail, text: (n) => n.detail },
]);

const end = (e) => {
  if (e.owner === null) return "in a message";
  return e.owner === 0 ? "kernel" : `${e.name} (${e.owner})`;
};
const channels = table("channels", "Channels", [
  { name: "Id", kind: `${N} ${M}`, by: (c) => c.id, text: (c) => c.id },
  { name: "Contract", by: (c) => c.contract, find: (c) => c.contract, text: (c) => c.contract },
  ...["Importing", "Exporting"].flatMap((side, i) => [
    { name: side, by: (c) => end(c.ends[i]), find: (c) => end(c.ends[i]),
      text: (c) => end(c.ends[i]) },
    { name: "in state", kind: M, by: (c) => c.ends[i].state, find: (c) => c.ends[i].state,
      text: (c) => (c.ends[i].closed ? "closed" : c.ends[i].state),
      tone: (c) => (c.ends[i].closed ? "warn" : "quiet") },
    { name: "queued", kind: `${N} ${M}`, by: (c) => c.ends[i].queued, text: (c) => c.ends[i].queued,
      tone: (c) => (c.ends[i].queued ? "warn" : "quiet") },
  ]),
]);

// ---- What is shown ----

function take(event) {
  const last = seen.last;
  const before = new Map((last ? last.processes.rows : []).map((p) => [p.id, p.cpu]));
  const passed = last ? event.uptime - last.uptime : 0;
  let busy = 0;
  for (const p of event.processes.rows) {
    p.key = p.id;
    const was = before.get(p.id);
    if (passed > 0 && was !== undefined) p.cpu_share = Math.max(0, p.cpu - was) / passed;
    busy += cpu(p);
  }
  for (const s of event.services.rows) s.key = s.name;
  for (const n of event.names.rows) n.key = n.path;
  for (const c of event.channels.rows) c.key = c.id;
  seen.last = event;
  const m = event.memory;
  const used = m.used / m.total;
  tile("CPU", busy / event.cpus, share(busy / event.cpus), 1);
  tile("Memory", used, bytes(m.used), 1, `of ${bytes(m.total)}`);
  tile("Processes", event.counts.processes, event.counts.processes);
  tile("Threads", event.counts.threads, event.counts.threads);
  tile("Channels", event.counts.channels, event.counts.channels);
  tile("Exchange heap", m.exchange, bytes(m.exchange));
  if (!seen.paused) show();
}

function show() {
  const event = seen.last;
  if (!event) return;
  $("nav").hidden = $("main").hidden = $("pause").hidden = false;
  $("facts").textContent = `${event.version} on ${event.machine}, ${event.cpus} `
    + `${event.cpus === 1 ? "processor" : "processors"}, up ${time(event.uptime)}, `
    + event.scheduler;
  fill(processes, event.processes);
  fill(services, event.services);
  // They are looked for every five seconds, and a directory may not answer.
  const old = event.names_age > 15e6 ? `; as of ${time(event.names_age)} ago` : "";
  fill(names, event.names, old);
  fill(channels, event.channels);
}

// ---- Doing something ----

function message(text, good) {
  $("message").textContent = text;
  $("message").className = good ? "" : "bad";
  $("message").hidden = false;
}

function act(question, address) {
  const dialog = $("confirm");
  $("question").textContent = question;
  dialog.returnValue = "no";
  dialog.showModal();
  dialog.onclose = async () => {
    if (dialog.returnValue !== "yes") return;
    try {
      const headers = { Authorization: `Bearer ${key}` };
      const answer = await fetch(address, { method: "POST", headers });
      message((await answer.text()).trim(), answer.ok);
    } catch (e) {
      message(`The server does not answer: ${e.message}`, false);
    }
  };
}

// ---- Events: one after the other over a request that the server ends after a while ----

function state(word, kind) {
  $("state").textContent = word;
  $("state").className = `pill ${kind}`;
}

function heard(name, data) {
  const event = JSON.parse(data);
  if (name === "hello") {
    seen.control = event.control;
    seen.why = event.why;
    $("control").textContent = event.control
      ? "Processes and services can be ended and started from here." : event.why;
  } else if (name === "look") take(event);
}

async function listen(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
      let name = "message";
      const data = [];
      for (const line of rest.slice(0, at).split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) data.push(line.slice(6));
      }
      rest = rest.slice(at + 2);
      state("live", "live");
      if (data.length) heard(name, data.join("\n"));
    }
  }
}

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

function ask(why) {
  $("ask").hidden = false;
  $("why").textContent = why;
  state("closed", "off");
  return new Promise((done) => {
    $("ask").onsubmit = (e) => {
      e.preventDefault();
      key = $("key").value.trim();
      $("key").value = "";
      sessionStorage.setItem("key", key);
      $("ask").hidden = true;
      done();
    };
  });
}

async function follow() {
  let wait = 500;
  for (;;) {
    try {
      const answer = await fetch("/system/events", {
        headers: key ? { Authorization: `Bearer ${key}` } : {}, cache: "no-store" });
      if (answer.status === 403) {
        await ask((await answer.text()).trim());
        continue;
      }
      if (answer.ok) {
        await listen(answer);
        wait = 500;
        await pause(100);
        continue;
      }
      state(answer.status === 503 ? "too many watch" : `error ${answer.status}`, "off");
    } catch (e) {
      state("away", "off");
    }
    await pause(wait);
    wait = Math.min(wait * 2, 8000);
  }
}

$("pause").addEventListener("click", () => {
  seen.paused = !seen.paused;
  $("pause").setAttribute("aria-pressed", String(seen.paused));
  $("pause").textContent = seen.paused ? "Go on" : "Pause";
  if (!seen.paused) show();
});
$("filter").addEventListener("input", show);
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    e.preventDefault();
    $("filter").focus();
  }
});
follow();
