// What the system tells, one event after the other, and what is done by it.
"use strict";

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
  for (const d of event.devices.rows) d.key = d.location;
  const counted = new Map((last ? last.channels.rows : []).map((c) => [c.id, c.traced]));
  for (const c of event.channels.rows) {
    c.key = c.id;
    const was = counted.get(c.id);
    // The count wraps at 2^32.
    if (passed > 0 && was !== undefined) c.rate = 1e6 * ((c.traced - was) >>> 0) / passed;
  }
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
  fill(devices, event.devices);
  graph.show(event);
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
  else if (name === "messages") chart.take(event);
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

// Asks anew, as something else is wanted.
let asked = null;
function again() {
  if (asked) asked.abort();
}

async function follow() {
  let wait = 500;
  for (;;) {
    const turn = new AbortController();
    asked = turn;
    try {
      const answer = await fetch(`/system/events${chart.wanted()}`, { signal: turn.signal,
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
      if (turn.signal.aborted) continue;
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
  chart.changed();
});
$("filter").addEventListener("input", show);
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
    e.preventDefault();
    $("filter").focus();
  }
});
follow();
