// Adds the entries that come to the page of a record. What it inserts was written by the server: an event only says that there
// is something to load.
"use strict";

(() => {
  const base = document.body.dataset.base, records = document.getElementById("records");
  const pause = document.getElementById("pause"), tail = document.getElementById("tail");
  if (!records || !pause) return; // a page of earlier entries stays as it is
  const { kind, query } = records.dataset;
  const most = 500; // rows on the page; "Older" leads to the others
  let last = records.dataset.end, events = null, loading = false, again = false, stopped = false;

  const load = () => new Promise((done, failed) => {
    const request = new XMLHttpRequest(); // it parses HTML without running any of it
    request.open("GET", base + "/records/" + kind + "?" + query);
    request.responseType = "document";
    request.onload = () => request.status === 200 ? done(request.response) : failed(new Error(String(request.status)));
    request.onerror = () => failed(new Error("the server cannot be reached"));
    request.send();
  });
  // merge puts new rows before those that are there. If entries are missing in between, it shows the new page in their place.
  const merge = (page) => {
    const fresh = page.getElementById("records"), body = records.querySelector("tbody");
    const rows = [...fresh.querySelectorAll("tr[data-entry]")];
    const known = new Set([...records.querySelectorAll("tr[data-entry]")].map((r) => r.dataset.entry));
    const wanted = rows.filter((r) => !known.has(r.dataset.entry));
    if (wanted.length === 0) return;
    if (!body || wanted.length === rows.length) records.replaceChildren(...[...fresh.childNodes].map((n) => document.importNode(n, true)));
    else {
      body.prepend(...wanted.map((r) => document.importNode(r, true)));
      while (body.rows.length > most) body.lastElementChild.remove();
      if (body.rows.length === most) document.getElementById("older")?.closest("p").remove(); // it leads past those that were removed
    }
    for (const t of records.querySelectorAll("time.clock")) t.dispatchEvent(new CustomEvent("shown", { bubbles: true }));
  };
  const refresh = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      do {
        again = false;
        merge(await load());
        await new Promise((done) => setTimeout(done, 300)); // many entries are one page
      } while (again);
    } catch { /* the stream says when the server is there again */ } finally { loading = false; }
  };
  const follow = () => {
    if (events || stopped || document.hidden) return;
    events = new EventSource(base + "/api/entries/events?record=" + kind + "&" + query + (last ? "&after=" + last : ""));
    events.addEventListener("open", () => { tail.textContent = "Live: new entries appear by themselves."; });
    events.addEventListener("entry", (e) => { last = e.lastEventId; refresh(); });
    events.addEventListener("error", () => { tail.textContent = "Not connected: new entries do not appear."; });
  };
  const leave = () => { events?.close(); events = null; };
  // A browser opens few connections to one host: a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); else { refresh(); follow(); } });
  pause.hidden = false;
  pause.addEventListener("click", () => {
    stopped = !stopped;
    pause.textContent = stopped ? "Add new entries" : "Stop adding new entries";
    if (stopped) { leave(); tail.textContent = "Stopped: new entries do not appear."; } else { refresh(); follow(); }
  });
  follow();
})();
