// The tables: what their columns show, and how rows are acted on.
"use strict";

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
  update: (cell, p) => buttons(cell, `${p.name} ${p.id}`,
    () => !p.essential && p.state !== "ended") },
], tree, $("graph"));

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
], undefined, $("graph"));

const devices = table("devices", "Devices", [
  { name: "Location", by: (d) => d.location, find: (d) => d.location, text: (d) => d.location },
  { name: "Signature", by: (d) => d.signature, find: (d) => d.signature, text: (d) => d.signature,
    kind: M },
  { name: "Name", by: (d) => d.names, find: (d) => d.names, text: (d) => d.names },
  { name: "Driver", by: (d) => d.driver, find: (d) => d.driver, text: (d) => d.driver },
  { name: "Service", by: (d) => d.service, find: (d) => d.service, text: (d) => d.service,
    kind: M },
  { name: "State", by: (d) => d.state, find: (d) => d.state,
    text: (d) => d.state || (d.service ? "" : "no driver"), tone: (d) => TONES[d.state] || "quiet" },
  { name: "Process", kind: `${N} ${M}`, by: (d) => d.process, text: (d) => d.process || "" },
  { name: "Restarts", kind: `${N} ${M}`, by: (d) => d.restarts, text: (d) => d.restarts || "",
    tone: (d) => (d.restarts ? "warn" : "quiet") },
], undefined, $("graph"));

const names = table("names", "Name space", [
  { name: "Path", by: (n) => n.path, find: (n) => n.path, text: (n) => n.path },
  { name: "Kind", by: (n) => n.kind, text: (n) => n.kind, kind: "quiet" },
  { name: "Leads to, or contract", kind: "long", find: (n) => n.detail, text: (n) => n.detail },
]);

// Messages are counted only while somebody has them recorded.
const rate = (count) => {
  if (!count) return chart.live ? "0" : "–";
  return count < 10 ? count.toFixed(1) : Math.round(count).toLocaleString("en");
};
const end = (e) => {
  if (e.owner === null) return "in a message";
  return e.owner === 0 ? "kernel" : `${e.name} (${e.owner})`;
};
const channels = table("channels", "Channels", [
  { name: "Id", kind: `${N} ${M}`, by: (c) => c.id, text: (c) => c.id },
  { name: "Contract", by: (c) => c.contract, find: (c) => c.contract, text: (c) => c.contract },
  { name: "Messages/s", kind: `${N} ${M}`, by: (c) => c.rate || 0, text: (c) => rate(c.rate),
    tone: (c) => (c.rate ? "good" : "quiet") },
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
