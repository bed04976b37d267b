// Messages as a sequence chart: a line for each process, an arrow for each message, time downwards.
// The system records them only while this is live: asked for, not paused, in a tab that is seen.
"use strict";

const chart = (() => {
  // What is kept, and drawn: the latest.
  const ROWS = 250;
  const LINES = 30;
  const [HIGH, WIDE, LEFT, HEAD] = [24, 132, 88, 44];
  const of = { on: false, live: false, begun: false, rows: [], names: new Map(), lost: 0, words: "" };

  const head = drawn("svg", { "aria-hidden": "true" });
  const body = drawn("svg", { "aria-hidden": "true" });
  const above = node("div", undefined, "lifelines");
  above.append(head);
  $("chart-area").append(above, body);

  const wants = () => of.on && !seen.paused && !document.hidden;
  // What is asked for with the events.
  function wanted() {
    of.begun = false;
    of.live = wants();
    if (!of.live) return "";
    const carriers = $("carriers").checked ? "&page=1" : "";
    return `?messages=${encodeURIComponent(of.words)}${carriers}`;
  }

  function take(event) {
    if (!of.live) return;
    if (!event.on) {
      of.on = false;
      changed();
      $("messages-hint").textContent = event.why;
      return;
    }
    if (!of.begun && of.rows.length) add({ kind: "gap", words: "recorded anew" });
    of.begun = true;
    for (const { id, name } of event.names.rows) of.names.set(id, name);
    const lost = event.lost + event.rows.left;
    of.lost += lost;
    if (lost) add({ kind: "gap", words: `${lost.toLocaleString("en")} events lost` });
    event.rows.rows.forEach(add);
    show();
  }

  function add(row) {
    of.rows.push(row);
    if (of.rows.length > ROWS) of.rows.shift();
  }

  const called = (id) => {
    if (id === 0) return "in transit";
    return `${of.names.get(id) || "?"} (${id})`;
  };
  const what = (r) => {
    if (r.kind === "message") return r.contract ? `${r.contract}.${r.message}` : r.message;
    return r.kind === "made" ? "is made" : `ended: ${r.message}`;
  };
  const second = (t) => (t / 1e6).toFixed(6);

  // The lines, by the numbers of their processes: the latest processes that something was seen of
  // have one, and one that was made after another of its name has ended goes on on the other's.
  function columns() {
    const spans = new Map();
    const name = (id) => of.names.get(id) || "?";
    for (let i = of.rows.length - 1; i >= 0; i -= 1) {
      const r = of.rows[i];
      if (r.kind === "gap") continue;
      for (const id of [r.from, r.to]) {
        if (!spans.has(id)) spans.set(id, { id, first: i, made: false, ended: null });
        const span = spans.get(id);
        span.first = i;
        if (id === r.to && r.kind === "made") span.made = true;
        if (id === r.to && r.kind === "ended") span.ended = i;
      }
    }
    const lines = [];
    for (const span of [...spans.values()].sort((a, b) => a.id - b.id)) {
      const free = span.made && lines.find((l) => l.name === name(span.id)
        && l.ended !== null && l.ended < span.first);
      if (free) {
        free.ids.push(span.id);
        free.ended = span.ended;
      } else lines.push({ name: name(span.id), ids: [span.id], ended: span.ended });
    }
    return lines.slice(-LINES);
  }

  function size(svg, wide, high) {
    svg.setAttribute("width", wide);
    svg.setAttribute("height", high);
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  }

  function show() {
    // Names of processes that are gone from the chart are not kept.
    if (of.names.size > 2000) {
      const rows = new Set(of.rows.flatMap((r) => [r.from, r.to]));
      for (const id of of.names.keys()) if (!rows.has(id)) of.names.delete(id);
    }
    const all = columns();
    const area = $("chart-area");
    const atEnd = area.scrollTop + area.clientHeight >= area.scrollHeight - 30;
    const step = Math.min(240, Math.max(WIDE, (area.clientWidth - LEFT - 20) / (all.length || 1)));
    const at = (i) => LEFT + step * (i + 0.5);
    const x = new Map(all.flatMap((c, i) => c.ids.map((id) => [id, at(i)])));
    const wide = Math.max(LEFT + step * all.length + 8, area.clientWidth - 20);
    const high = of.rows.length * HIGH + 12;
    size(head, wide, HEAD);
    size(body, wide, high);
    head.replaceChildren(...all.flatMap((c, i) => {
      const [first, last] = [c.ids[0], c.ids[c.ids.length - 1]];
      const numbers = c.ids.length > 1 ? `${first} … ${last}` : first || "";
      return [drawn("text", { x: at(i), y: 18, class: "name" }, first ? c.name : "in transit"),
        drawn("text", { x: at(i), y: 34, class: "id" }, numbers)];
    }));
    const [lines, arrows, words] = [[], [], []];
    const [from, to] = [new Map(), new Map()];
    let others = 0;
    of.rows.forEach((r, i) => {
      const y = (i + 1) * HIGH - 4;
      if (r.kind === "gap") {
        arrows.push(drawn("line", { x1: LEFT, x2: wide, y1: y - 6, y2: y - 6, class: "gap" }));
        words.push(drawn("text", { x: LEFT + 8, y: y - 2, class: "label lost" }, r.words));
        return;
      }
      words.push(drawn("text", { x: 6, y: y + 3, class: "time" }, second(r.time)));
      const [a, b] = [x.get(r.from), x.get(r.to)];
      if (a === undefined || b === undefined) { others += 1; return; }
      if (r.kind === "made") from.set(r.to, y);
      if (r.kind === "ended") {
        to.set(r.to, y);
        arrows.push(drawn("path", { class: "cross", d: `M${b - 5} ${y - 5}l10 10m0 -10l-10 10` }));
        words.push(drawn("text", { x: b + 10, y: y + 4, class: "label" }, r.message));
        return;
      }
      const kind = r.kind === "made" ? "arrow made" : "arrow";
      const way = b < a ? -1 : 1;
      const path = a === b ? `M${a} ${y - 8}h16v8h-12` : `M${a} ${y}H${b - way * 2}`;
      const point = a === b ? a + 3 : b - way;
      const back = a === b ? 1 : -1;
      arrows.push(drawn("path", { class: kind, d: path }), drawn("path", { class: "point",
        d: `M${point} ${y}l${back * way * 8} -4v8z` }));
      const text = r.kind === "made" ? `made (${r.to})` : what(r);
      const left = Math.min(Math.min(a, b) + 10, wide - text.length * 6.7 - 4);
      words.push(drawn("text", { x: left, y: y - 4, class: "label" }, text));
    });
    for (const [id, at] of x) {
      lines.push(drawn("line", { x1: at, x2: at, y1: from.get(id) || 0, y2: to.get(id) || high,
        class: "life" }));
    }
    body.replaceChildren(...lines, ...arrows, ...words);
    area.hidden = of.rows.length === 0;
    if (atEnd) area.scrollTop = area.scrollHeight;
    const hidden = others ? `; ${others} of further processes are in the table` : "";
    const lost = of.lost ? `; ${of.lost.toLocaleString("en")} events lost` : "";
    $("messages-count").textContent = of.rows.length
      ? `the latest ${of.rows.length}${lost}${hidden}` : "";
    if ($("messages-text").open) list();
  }

  function list() {
    $("messages-rows").replaceChildren(...of.rows.map((r) => {
      const line = node("tr");
      const cell = (text, kind) => line.append(node("td", text, kind));
      if (r.kind === "gap") {
        cell("", "number");
        line.append(node("td", r.words, "warn"));
        line.lastChild.colSpan = 4;
        return line;
      }
      cell(second(r.time), "number");
      cell(r.kind === "ended" ? "" : called(r.from));
      cell(called(r.to));
      cell(what(r));
      cell(r.channel ?? "", "number");
      return line;
    }));
  }

  // Asks anew if something else is wanted than what comes.
  function changed() {
    $("record").textContent = of.on ? "Pause" : "Record";
    $("record").setAttribute("aria-pressed", String(of.on));
    let hint = "Nothing is recorded. While it is, each message of the system takes longer.";
    if (of.on) hint = seen.paused ? "Held with the tables." : "Recording: messages as they are sent.";
    else if (of.rows.length) hint = "Paused: nothing is recorded.";
    $("messages-hint").textContent = hint;
    if (wants() !== of.live) again();
  }

  $("record").addEventListener("click", () => { of.on = !of.on; changed(); });
  $("clear").addEventListener("click", () => { of.rows = []; of.lost = 0; show(); changed(); });
  const refilter = () => {
    of.words = $("of").value.trim();
    if (of.live) again();
  };
  $("of").addEventListener("change", refilter);
  $("carriers").addEventListener("change", refilter);
  $("messages-form").addEventListener("submit", (e) => { e.preventDefault(); refilter(); });
  $("messages-text").addEventListener("toggle", () => { if ($("messages-text").open) list(); });
  document.addEventListener("visibilitychange", changed);
  addEventListener("resize", () => { if (of.rows.length) show(); });
  return { take, wanted, changed, get live() { return of.live; } };
})();
