// Channels as a graph: processes are its nodes, the channels between two of them one edge. A process
// keeps its place as long as it is there; nothing moves by itself.
"use strict";

const graph = (() => {
  // The most processes that are drawn, those with the most channels.
  const MOST = 80;
  const HIGH = 26;
  const shown = { nodes: new Map(), chosen: null, current: null, width: 0, high: 0 };
  const svg = drawn("svg", { role: "group", "aria-labelledby": "graph-title",
    "aria-describedby": "graph-help" });
  const lines = drawn("g");
  const boxes = drawn("g");
  svg.append(lines, boxes);
  $("graph-area").append(svg);

  const called = (n) => (n.id === 0 ? "kernel" : `${n.name} (${n.id})`);

  // Who has channels with whom.
  function read(event) {
    const nodes = new Map();
    const edges = new Map();
    const of = (e) => {
      if (e.owner === null) return null;
      if (!nodes.has(e.owner)) {
        nodes.set(e.owner, { id: e.owner, name: e.owner ? e.name : "kernel", channels: [] });
      }
      return nodes.get(e.owner);
    };
    for (const c of event.channels.rows) {
      const [a, b] = c.ends.map(of);
      if (a) a.channels.push(c);
      if (b && b !== a) b.channels.push(c);
      if (!a || !b || a === b) continue;
      const [one, other] = a.id < b.id ? [a, b] : [b, a];
      const key = `${one.id} ${other.id}`;
      if (!edges.has(key)) edges.set(key, { one, other, channels: [], rate: 0, odd: false });
      const edge = edges.get(key);
      edge.channels.push(c);
      edge.rate += c.rate || 0;
      edge.odd = edge.odd || c.ends.some((e) => e.closed || e.queued);
    }
    return { nodes, edges: [...edges.values()] };
  }

  // Those that are drawn: of the filter's and their neighbours, the ones with the most channels.
  function choose({ nodes, edges }) {
    const wanted = $("filter").value.trim().toLowerCase();
    let all = [...nodes.values()];
    if (wanted) {
      const has = (text) => text.toLowerCase().includes(wanted);
      const near = new Set(all.filter((n) => has(called(n))));
      const kept = new Set(near);
      for (const e of edges) {
        if (near.has(e.one) || near.has(e.other) || e.channels.some((c) => has(c.contract))) {
          kept.add(e.one);
          kept.add(e.other);
        }
      }
      all = all.filter((n) => kept.has(n));
    }
    all.sort((a, b) => b.channels.length - a.channels.length || a.id - b.id);
    const left = nodes.size - Math.min(all.length, MOST);
    all = all.slice(0, MOST).sort((a, b) => a.id - b.id);
    const ids = new Set(all.map((n) => n.id));
    return { all, left, edges: edges.filter((e) => ids.has(e.one.id) && ids.has(e.other.id)) };
  }

  // Edges pull, processes push each other away; then boxes that overlap are moved apart. All loops
  // are bounded: 80 processes take some milliseconds.
  function settle(places, edges, wide, high, rounds) {
    const room = Math.sqrt((wide * high) / Math.max(1, places.length));
    for (let round = 0; round < rounds; round += 1) {
      const most = room * 0.35 * (1 - round / rounds) + 1;
      for (const p of places) { p.dx = (wide / 2 - p.x) * 0.05; p.dy = (high / 2 - p.y) * 0.12; }
      for (let i = 0; i < places.length; i += 1) {
        for (let j = i + 1; j < places.length; j += 1) {
          const [p, q] = [places[i], places[j]];
          const dx = (p.x - q.x) * 0.6 || 0.1 * (i + 1);
          const dy = p.y - q.y || 0.1 * (j + 1);
          const push = (room * room) / (dx * dx + dy * dy) * 0.35;
          p.dx += dx * push; p.dy += dy * push;
          q.dx -= dx * push; q.dy -= dy * push;
        }
      }
      for (const [p, q] of edges) {
        const dx = q.x - p.x;
        const dy = q.y - p.y;
        const pull = Math.hypot(dx, dy) / room * 0.12;
        p.dx += dx * pull; p.dy += dy * pull;
        q.dx -= dx * pull; q.dy -= dy * pull;
      }
      for (const p of places) {
        const far = Math.hypot(p.dx, p.dy) || 1;
        p.x += p.dx / far * Math.min(far, most);
        p.y += p.dy / far * Math.min(far, most);
      }
      inside(places, wide, high);
    }
    for (let round = 0; round < 80; round += 1) {
      let moved = false;
      for (let i = 0; i < places.length; i += 1) {
        for (let j = i + 1; j < places.length; j += 1) {
          const [p, q] = [places[i], places[j]];
          const x = (p.wide + q.wide) / 2 + 14 - Math.abs(p.x - q.x);
          const y = HIGH + 12 - Math.abs(p.y - q.y);
          if (x <= 0 || y <= 0) continue;
          moved = true;
          const [axis, by] = y < x ? ["y", y / 2 + 0.5] : ["x", x / 2 + 0.5];
          const sign = p[axis] < q[axis] || (p[axis] === q[axis] && i < j) ? -1 : 1;
          p[axis] += sign * by;
          q[axis] -= sign * by;
        }
      }
      inside(places, wide, high);
      if (!moved) break;
    }
  }

  function inside(places, wide, high) {
    for (const p of places) {
      p.x = Math.min(Math.max(p.x, p.wide / 2 + 4), wide - p.wide / 2 - 4);
      p.y = Math.min(Math.max(p.y, HIGH / 2 + 4), high - HIGH / 2 - 4);
    }
  }

  function place(all, edges) {
    const wide = Math.max(560, $("graph-area").clientWidth || 900);
    const area = all.reduce((sum, n) => sum + (called(n).length * 7.2 + 60) * 100, 0);
    const high = Math.round(Math.min(900, Math.max(300, area / wide)) / 60) * 60;
    const before = shown.nodes.size;
    let changed = wide !== shown.width || high !== shown.high;
    const fresh = changed && before === 0;
    [shown.width, shown.high] = [wide, high];
    const gone = new Set(shown.nodes.keys());
    all.forEach((n, i) => {
      gone.delete(n.id);
      let p = shown.nodes.get(n.id);
      if (!p) {
        changed = true;
        const near = edges.find((e) => (e.one.id === n.id && shown.nodes.has(e.other.id))
          || (e.other.id === n.id && shown.nodes.has(e.one.id)));
        const by = near && !fresh
          && shown.nodes.get(near.one.id === n.id ? near.other.id : near.one.id);
        const turn = i * 2.39996;
        const far = Math.sqrt((i + 0.5) / all.length) * 0.45;
        p = by ? { x: by.x + 40 * Math.cos(turn), y: by.y + 40 * Math.sin(turn) }
          : { x: wide * (0.5 + far * Math.cos(turn)), y: high * (0.5 + far * Math.sin(turn)) };
        box(p, n);
        shown.nodes.set(n.id, p);
      }
      p.of = n;
    });
    for (const id of gone) {
      const { group } = shown.nodes.get(id);
      const had = group.contains(document.activeElement);
      group.remove();
      shown.nodes.delete(id);
      if (shown.current === id) shown.current = null;
      if (shown.chosen === id) shown.chosen = null;
      const next = had && boxes.firstElementChild;
      if (next) go(Number(next.dataset.id));
    }
    if (!changed) return;
    const between = edges.map((e) => [shown.nodes.get(e.one.id), shown.nodes.get(e.other.id)]);
    const places = [...shown.nodes.values()];
    // Those that were there move a little to make room.
    settle(places, between, wide, high, before ? 12 : 250);
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    svg.setAttribute("width", wide);
    svg.setAttribute("height", high);
    for (const p of places) {
      p.group.setAttribute("transform", `translate(${p.x.toFixed(1)} ${p.y.toFixed(1)})`);
    }
  }

  function box(p, n) {
    const words = called(n);
    p.wide = words.length * 7.2 + 20;
    p.group = drawn("g", { class: "process", role: "button", tabindex: "-1" });
    p.group.dataset.id = n.id;
    p.group.append(drawn("rect", { x: -p.wide / 2, y: -HIGH / 2, width: p.wide, height: HIGH,
      rx: 6 }), drawn("text", { y: 4.5, "text-anchor": "middle" }, words));
    p.group.addEventListener("click", () => { go(n.id); pick(n.id); });
    p.group.addEventListener("focus", () => { shown.current = n.id; roving(); });
    boxes.append(p.group);
  }

  // One process is reached by Tab; the others from there.
  function roving() {
    if (!shown.nodes.has(shown.current)) shown.current = shown.nodes.keys().next().value ?? null;
    for (const [id, p] of shown.nodes) {
      p.group.setAttribute("tabindex", id === shown.current ? "0" : "-1");
    }
  }

  function go(id) {
    shown.current = id;
    roving();
    const p = shown.nodes.get(id);
    if (p) p.group.focus();
  }

  function pick(id) {
    shown.chosen = shown.chosen === id ? null : id;
    if (seen.last) draw();
  }

  // The nearest in a direction, those straight ahead first.
  function beside(x, y) {
    const from = shown.nodes.get(shown.current);
    if (!from) return null;
    let best = null;
    for (const [id, p] of shown.nodes) {
      const ahead = (p.x - from.x) * x + (p.y - from.y) * y;
      const aside = Math.abs((p.x - from.x) * y) + Math.abs((p.y - from.y) * x);
      const far = ahead + 2 * aside;
      if (p !== from && ahead > 1 && (!best || far < best.far)) best = { id, far };
    }
    return best && best.id;
  }

  svg.addEventListener("keydown", (e) => {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const ids = [...shown.nodes.keys()];
    let to = null;
    if (ways[e.key]) to = beside(...ways[e.key]);
    else if (e.key === "Home") [to] = ids;
    else if (e.key === "End") to = ids[ids.length - 1];
    else if (e.key === "Enter" || e.key === " ") pick(shown.current);
    else if (e.key === "Escape") { shown.chosen = null; draw(); } else return;
    e.preventDefault();
    if (to !== null && to !== undefined) go(to);
  });

  const sum = (channels) => {
    const counts = new Map();
    for (const c of channels) counts.set(c.contract, (counts.get(c.contract) || 0) + 1);
    return [...counts].map(([name, count]) => (count > 1 ? `${count} ${name}` : name));
  };

  function draw() {
    const { all, left, edges } = choose(read(seen.last));
    place(all, edges);
    const count = edges.reduce((n, e) => n + e.channels.length, 0);
    $("graph-count").textContent = `${all.length} processes, ${count} channels between them`
      + (left ? `; ${left} left out` : "");
    const labels = [];
    lines.replaceChildren(...edges.map((e) => {
      const [p, q] = [shown.nodes.get(e.one.id), shown.nodes.get(e.other.id)];
      const mine = shown.chosen === e.one.id || shown.chosen === e.other.id;
      const kind = ["edge", mine ? "mine" : "", e.odd ? "odd" : "", e.rate ? "busy" : "",
        shown.chosen !== null && !mine ? "aside" : ""].filter(Boolean).join(" ");
      const line = drawn("line", { x1: p.x, y1: p.y, x2: q.x, y2: q.y, class: kind,
        "stroke-width": (1 + Math.min(4, Math.log10(1 + e.rate) * 1.3)).toFixed(1) });
      line.append(drawn("title", {}, `${called(e.one)} – ${called(e.other)}: `
        + sum(e.channels).join(", ") + (e.rate ? `, ${rate(e.rate)} messages/s` : "")));
      const words = [];
      if (mine) {
        const names = sum(e.channels);
        words.push(names[0].replace(/Contract$/, "") + (names.length > 1 ? ` +${names.length - 1}` : ""));
      }
      if (e.rate && (mine || shown.chosen === null)) words.push(`${rate(e.rate)}/s`);
      if (words.length) {
        labels.push(drawn("text", { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 + 4, class: "label",
          "text-anchor": "middle" }, words.join(" ")));
      }
      return line;
    }), ...labels);
    const near = new Set(edges.filter((e) => shown.chosen === e.one.id || shown.chosen === e.other.id)
      .flatMap((e) => [e.one.id, e.other.id]));
    for (const [id, p] of shown.nodes) {
      const chosen = id === shown.chosen;
      p.group.setAttribute("aria-pressed", String(chosen));
      p.group.setAttribute("aria-label", `${called(p.of)}, ${p.of.channels.length} channels`);
      p.group.setAttribute("class", `process${chosen ? " chosen" : ""}`
        + (shown.chosen !== null && !chosen && !near.has(id) ? " aside" : ""));
    }
    roving();
    about();
  }

  // The channels of the chosen process, as text.
  function about() {
    const p = shown.nodes.get(shown.chosen);
    $("graph-about").hidden = !p;
    if (!p) return;
    const words = `Channels of ${called(p.of)}`;
    if ($("graph-name").textContent !== words) $("graph-name").textContent = words;
    $("graph-rows").replaceChildren(...p.of.channels.slice(0, 200).map((c) => {
      const own = c.ends[0].owner === p.of.id ? 0 : 1;
      const [mine, other] = [c.ends[own], c.ends[1 - own]];
      const line = node("tr");
      const cell = (text, kind) => line.append(node("td", text, kind));
      cell(c.contract);
      cell(mine.closed ? "closed" : mine.state, "quiet");
      cell(end(other));
      cell(other.closed ? "closed" : other.state, "quiet");
      cell(mine.queued + other.queued, "number");
      cell(rate(c.rate), "number");
      return line;
    }));
  }

  addEventListener("resize", () => { if (seen.last && !seen.paused) draw(); });
  return { show: draw };
})();
