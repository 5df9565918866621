// Keeps the list of questions fresh, sends answers without loading the page anew, and makes the keyboard do what the buttons do.
// Everything works without this script, less comfortably. It makes no HTML of texts: what it inserts was written by the server.
"use strict";

(() => {
  const base = document.body.dataset.base;
  // The login page finds its way back by it, for links that lead to the page from elsewhere. No other port of this host reads it.
  try { localStorage.setItem("codemode " + document.body.dataset.home, base); } catch { /* such a link asks for a login */ }
  const $ = (id) => document.getElementById(id);
  const list = $("pending"), batch = $("batch"), status = $("status"), confirming = $("confirm"), help = $("help");
  document.documentElement.classList.add("live");

  // Keys and clicks right after the list changed do not count: the person could not see yet what they are about.
  const settle = 600;
  let settled = performance.now() + settle;
  const early = () => performance.now() < settled;
  const changed = () => { settled = performance.now() + settle; };

  // A notice stays until the next one. One for screen readers alone replaces no visible notice.
  const say = (text, bad, unseen) => {
    const p = document.createElement("p");
    p.className = unseen ? "sr" : bad ? "notice bad" : "notice";
    p.textContent = text;
    for (const old of status.querySelectorAll(unseen ? ".sr" : "p")) old.remove();
    status.append(p);
  };

  // anew loads the page that this one belongs to. Loading this one again would send a form again that it is the answer to.
  let leaving = false;
  const anew = () => { if (!leaving) location.replace(document.body.dataset.page); };
  document.querySelector("form.who").addEventListener("submit", () => { leaving = true; });

  // Times are in the zone of the person.
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
  const day = (t) => [t.getFullYear(), t.getMonth() + 1, t.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
  const here = (root) => {
    for (const e of root.querySelectorAll("time.clock")) {
      const t = new Date(e.dateTime);
      e.textContent = (day(t) === day(new Date()) ? "" : day(t) + " ") + clock.format(t) + (e.classList.contains("exact") ? ":" + String(t.getSeconds()).padStart(2, "0") : "");
    }
  };
  const zone = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(new Date()).find((p) => p.type === "timeZoneName");
  document.addEventListener("shown", (e) => here(e.target.parentNode));
  if ($("zone")) { here(document); if (zone) $("zone").textContent = zone.value; }

  // The list.

  const load = (path = "/") => new Promise((done, failed) => {
    const request = new XMLHttpRequest(); // it parses HTML without running any of it
    request.open("GET", base + path);
    request.responseType = "document";
    request.onload = () => request.status === 200 ? done(request.response) : failed(new Error(String(request.status)));
    request.onerror = () => failed(new Error("the server cannot be reached"));
    request.send();
  });

  const count = (n) => {
    if (!$("count")) return; // this person answers nothing
    $("count").textContent = n;
    $("count").classList.toggle("some", n > 0);
    if (list) document.title = (n ? n + " waiting" : "Nothing waits") + " · codemode";
  };

  // merge adds new questions and removes answered ones, and leaves the rest alone: the person may be typing in it.
  const merge = (page) => {
    const fresh = page.getElementById("pending");
    if (!fresh) return;
    mergeAnswered(page);
    const before = new Map([...list.children].filter((s) => s.matches(".group")).map((s) => [s.dataset.mark, s]));
    const wanted = [...fresh.children];
    const marks = new Set(wanted.map((s) => s.dataset.mark));
    if (before.size === wanted.length && wanted.every((s) => before.has(s.dataset.mark))) return;
    const focused = document.activeElement, held = list.contains(focused) && focused.closest("[id]");
    const known = new Set([...list.querySelectorAll(".ask")].map((a) => a.id));
    const checked = new Set([...list.querySelectorAll("input[form=batch]:checked")].map((x) => x.value));
    const sections = wanted.map((s) => before.get(s.dataset.mark) || document.importNode(s, true));
    sections.forEach(here);
    for (const [mark, section] of before) if (!marks.has(mark)) section.remove();
    let place = list.firstElementChild;
    for (const s of sections) {
      while (place && place.matches(".given")) place = place.nextElementSibling; // answers stay in their place
      if (place === s) place = s.nextElementSibling;
      else list.insertBefore(s, place);
    }
    let added = 0;
    for (const ask of list.querySelectorAll(".ask")) if (!known.has(ask.id)) { ask.classList.add("new"); added++; }
    for (const box of list.querySelectorAll("input[form=batch]")) if (checked.has(box.value)) box.checked = true;
    if (held && !document.contains(focused)) ($(held.id) || $("waiting-title")).focus({ preventScroll: true });
    if (current && !$(current)) current = null;
    changed();
    choose();
    if (added) say(added === 1 ? "A program asks." : added + " calls wait for an answer.", false, true);
  };

  // mergeAnswered shows the outcome of answers: in place of the card if it was on this page, else below.
  const mergeAnswered = (page) => {
    const fresh = page.getElementById("answered"), height = list.offsetHeight;
    const wanted = [...fresh.querySelectorAll(".given")];
    for (const old of document.querySelectorAll(".given")) if (!wanted.some((g) => g.id === old.id)) old.remove();
    let previous = null;
    for (const g of wanted) {
      const old = $(g.id), now = old && old.dataset.mark === g.dataset.mark ? old : document.importNode(g, true);
      const card = g.dataset.for.split(" ").map($).find((ask) => ask && list.contains(ask));
      if (now !== old) {
        here(now);
        if (old) old.replaceWith(now);
        else if (card) card.closest(".group").before(now);
        else if (previous) previous.after(now);
        else $("answered").querySelector(".all-given").prepend(now);
        if (!now.matches(".open")) say(now.querySelector("p").textContent, false, true);
      }
      if (!list.contains(now)) previous = now;
    }
    if (list.offsetHeight !== height) changed();
    follows();
  };
  // follows polls while the outcome of an answer is unknown, less and less often. The server says when it gives up.
  let pause = 0, looking = 0;
  const follows = () => {
    clearTimeout(looking);
    if (!document.querySelector(".given.open")) { pause = 0; return; }
    pause = Math.min(5000, pause ? pause * 1.5 : 150);
    looking = setTimeout(refresh, pause);
  };

  let loading = false, again = false, sending = 0; // nothing moves while an answer is being sent
  const refresh = async () => {
    if (!list) return;
    if (loading || sending) { again = true; return; }
    loading = true;
    try {
      do {
        again = false;
        const page = await load();
        if (sending) return;
        merge(page);
      } while (again);
    } catch (e) {
      if (e.message === "401") anew();
    } finally { loading = false; }
  };

  // The runs in progress, on their page: it is read again after each change, and now and then for those of other processes.
  const runs = $("running");
  const mergeRuns = (fresh) => {
    const before = new Map([...runs.children].map((e) => [e.id, e]));
    const wanted = [...fresh.children].map((e) => {
      const old = before.get(e.id);
      return old && old.dataset.mark === e.dataset.mark ? old : document.importNode(e, true);
    });
    const held = runs.contains(document.activeElement) && document.activeElement.getAttribute("href");
    for (const old of before.values()) if (!wanted.includes(old)) old.remove();
    let place = runs.firstElementChild; // what has not changed stays where it is: a person may have selected a text in it
    for (const e of wanted) {
      if (place === e) place = e.nextElementSibling;
      else runs.insertBefore(e, place);
    }
    if (held && !runs.contains(document.activeElement)) for (const a of runs.querySelectorAll("a")) if (a.getAttribute("href") === held) a.focus({ preventScroll: true });
  };
  let fetching = false, stale = false;
  const lookAtRuns = async () => {
    if (!runs || document.hidden) return;
    if (fetching) { stale = true; return; }
    fetching = true;
    try {
      do {
        stale = false;
        mergeRuns((await load("/running")).getElementById("running"));
      } while (stale);
    } catch (e) {
      if (e.message === "401") anew();
    } finally { fetching = false; }
  };
  if (runs) {
    setInterval(lookAtRuns, 5000);
    document.addEventListener("visibilitychange", lookAtRuns);
  }

  // News. One page of this browser holds the stream and tells the others: browsers open only a few connections to one host, and
  // a stream takes one. When it closes, another page takes over.

  const link = $("link");
  const connected = (yes) => {
    const lost = document.documentElement.classList;
    if (!yes && !lost.contains("lost")) say("The connection to codemode is lost. The list is not up to date, and the lost connection decides nothing.", true);
    if (yes && lost.contains("lost")) say("Connected again.");
    lost.toggle("lost", !yes);
    link.textContent = yes ? "Live: new questions appear by themselves." : "Not connected: new questions do not appear.";
    link.classList.toggle("broken", !yes);
  };
  const news = (pending) => {
    connected(true);
    count(pending.length);
    refresh();
    const here = document.querySelector("article.whole");
    if (here && !pending.some((a) => a.id === here.id)) {
      for (const b of here.querySelectorAll("button")) b.disabled = true;
      say("This question is answered, or its time is over.", true);
    }
  };
  const others = new BroadcastChannel("codemode " + base);
  let latest = null, streaming = false;
  const tell = (what) => { others.postMessage(what); hear(what); };
  const hear = (what) => {
    if (what.pending) news(what.pending);
    else if (what.running) lookAtRuns();
    else if (what.broken) connected(false);
    else if (what.over) anew();
    else if (what.hello && streaming && latest) others.postMessage({ pending: latest });
  };
  others.addEventListener("message", (e) => hear(e.data));
  const follow = () => {
    streaming = true;
    const events = new EventSource(base + "/api/events");
    events.addEventListener("pending", (e) => { latest = JSON.parse(e.data).pending; tell({ pending: latest }); });
    events.addEventListener("running", () => tell({ running: true }));
    events.addEventListener("end", () => { events.close(); tell({ over: true }); });
    events.addEventListener("error", () => {
      tell({ broken: true });
      if (events.readyState !== EventSource.CLOSED) return; // it tries again by itself
      fetch(base + "/api/session").then((a) => { if (a.status === 401) tell({ over: true }); }).catch(() => {});
    });
    return new Promise(() => {}); // for as long as the page is open
  };
  others.postMessage({ hello: true });
  // A browser refuses the lock to pages that may store nothing, and when it grants one to a page whose script it has stopped.
  if (navigator.locks) navigator.locks.request("codemode " + base, follow).catch(follow);
  else follow();

  setInterval(() => {
    for (const t of document.querySelectorAll("#main time.age")) {
      const s = Math.max(0, Math.round((Date.now() - Date.parse(t.dateTime)) / 1000));
      t.textContent = s < 60 ? s + " s" : s < 3600 ? Math.floor(s / 60) + " min" : Math.floor(s / 3600) + " h";
    }
  }, 5000);

  // Answers.

  const send = async (form, fields) => {
    sending++;
    try { await give(form, fields); } finally { sending--; await refresh(); }
  };
  const give = async (form, fields) => {
    const got = await post(form, fields);
    if (got) gave(form, got);
  };
  // post sends a form, and gives what the server says; nothing if the session is over.
  const post = async (form, fields) => {
    const answer = await fetch(form.action, {
      method: "POST", body: fields, redirect: "error",
      headers: { "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
    });
    if (answer.status === 401) { anew(); return null; }
    return answer.json();
  };
  const gave = (form, got) => {
    const results = got.results || [{ ok: false, error: got.error }];
    const failed = results.filter((r) => !r.ok);
    say(got.said || got.error, failed.length > 0);
    const problem = form.closest("details.edit") ? $("edit-problem") : (form.closest(".ask") || form).querySelector(".problem");
    if (problem) problem.textContent = failed.length ? got.said || got.error : "";
    if (failed.length) form.dispatchEvent(new CustomEvent("refused", { detail: failed[0] }));
    if (got.next) { location.assign(got.next); return; }
    pause = 0;
    if (failed.length === 0) next(form.closest(".ask"), results.map((r) => r.id));
  };

  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (form.getAttribute("action") !== base + "/answer") return;
    if (e.submitter && e.submitter.hasAttribute("formaction")) return; // it leads to a page that asks for a code
    e.preventDefault();
    if (early()) { say("The list has just changed. Look again, and answer then.", true); return; }
    if (unread(form, e.submitter)) return;
    send(form, new URLSearchParams(new FormData(form, e.submitter))).catch(() => say("The answer was not sent: the server cannot be reached.", true));
  });

  // A call of high risk is allowed when all of its text was on the screen, from its beginning on and long enough to be seen.

  const glance = 100;
  const reading = new WeakMap(); // by text: how far it was seen, and what was on the screen at the last look
  const look = () => {
    const now = performance.now();
    for (const ask of document.querySelectorAll(".ask")) {
      for (const text of ask.querySelectorAll(".read")) {
        const box = text.getBoundingClientRect();
        let r = reading.get(text);
        if (!r || r.height !== box.height || r.width !== box.width) r = { height: box.height, width: box.width, seen: 0, to: 0, since: now };
        const from = Math.max(-box.top, 0), to = Math.min(innerHeight - box.top, box.height);
        if (to !== r.to) { r.to = to; r.since = now; }
        else if (now - r.since >= glance && from <= r.seen + 1) r.seen = Math.max(r.seen, to);
        reading.set(text, r);
      }
    }
  };
  setInterval(look, glance / 2);
  // unread says so when an answer is a yes to a call of high risk that was not read to its end, and shows what was not.
  const unread = (form, button) => {
    const ask = form.closest(".ask");
    if (!ask || !form.querySelector("input.code") || !(button && button.value.startsWith("allow"))) return false;
    const texts = [...ask.querySelectorAll(".read")].filter((t) => t.offsetParent !== null);
    const text = texts.find((t) => !reading.has(t) || reading.get(t).seen < reading.get(t).height - 2);
    if (texts.length > 0 && !text) return false;
    const r = text && reading.get(text);
    say("A call of this risk has to be seen whole before it is allowed. Read on to the end of its text, and press the button again.", true);
    if (text) scrollTo({ top: scrollY + text.getBoundingClientRect().top + (r ? r.seen : 0) - 80 });
    return true;
  };

  // The question that keys act on.

  let current = null;
  const asks = () => [...document.querySelectorAll(".ask")];
  const at = () => document.activeElement.closest(".ask") || (current && $(current)) || null;
  const go = (ask) => {
    if (!ask) return;
    current = ask.id;
    ask.focus();
    ask.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const all = asks();
    const i = all.indexOf(at());
    go(all[i < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(i + by, 0), all.length - 1)]);
  };
  // next goes on with the question behind one that is answered.
  const next = (ask, answered) => {
    const left = asks().filter((a) => !answered.includes(a.id));
    const i = ask ? asks().indexOf(ask) : -1;
    const following = left.find((a) => asks().indexOf(a) > i) || left[left.length - 1];
    if (following) go(following);
    else ($("waiting-title") || document.body).focus();
  };

  const boxes = () => [...document.querySelectorAll("input[form=batch]:checked")];
  const choose = () => {
    if (!batch) return;
    const n = boxes().length;
    batch.classList.toggle("some", n > 0);
    $("selected").textContent = n === 1 ? "1 selected" : n + " selected";
  };
  document.addEventListener("change", (e) => { if (e.target.form === batch) choose(); });

  // released calls a function when the key is up again, so that its letter is not typed into a field.
  const released = (then) => {
    const late = setTimeout(() => up(), 1500);
    const up = () => { clearTimeout(late); document.removeEventListener("keyup", up, true); then(); };
    document.addEventListener("keyup", up, true);
  };

  // confirm asks once more, and accepts an answer after there was time to read.
  let confirmed = null, opened = 0;
  const confirmWith = (decision, why) => {
    const chosen = boxes();
    const ask = at();
    const targets = chosen.length ? chosen.map((b) => b.closest(".ask")) : ask ? [ask] : [];
    if (targets.length === 0) { say("Choose a question first: j and k go from one to the next."); return; }
    const form = chosen.length ? batch : ask.querySelector(decision === "deny" ? "form.deny, form.one" : "form.allow, form.one");
    const code = !chosen.length && form && form.querySelector("input.code");
    if (!form && !chosen.length && ask.classList.contains("own")) { say("Somebody else has to answer this one: you asked for it yourself."); return; }
    if (!form && ask.querySelector(".prove")) { say("To allow this one, follow its link and sign in. You can deny it without."); return; }
    if (!form || ask && ask.classList.contains("asks")) { say("Answer this one in its form."); return; }
    if (decision !== "deny" && code && !code.value) { released(() => code.focus()); say("A call of this risk needs its code. Type it, then press the button."); return; }
    if (decision !== "deny" && !form.querySelector("button.yes")) { say("You have to see it whole first: press s."); return; }
    if (decision !== "deny" && !chosen.length && unread(form, form.querySelector("button.yes"))) return;
    const what = targets.length === 1 ? "this call" : "these " + targets.length + " calls";
    $("confirm-title").textContent = (decision === "deny" ? "Deny " : "Allow ") + what + "?";
    $("confirm-list").replaceChildren(...targets.map((t) => {
      const li = document.createElement("li");
      li.textContent = t.querySelector(".summary").textContent;
      return li;
    }));
    $("confirm-yes").textContent = decision === "deny" ? "Deny" : "Allow";
    $("confirm-yes").className = decision === "deny" ? "no" : "yes";
    $("confirm-reason-label").hidden = decision !== "deny";
    $("confirm-reason").value = "";
    confirmed = { form, decision: decision === "deny" ? "deny" : "allow once", targets: targets.map((t) => t.id) };
    confirming.showModal();
    opened = performance.now();
    $("confirm-title").focus();
    if (why) released(() => $("confirm-reason").focus());
  };
  if (confirming) {
    $("confirm-no").addEventListener("click", () => confirming.close());
    const take = () => {
      if (!confirmed || performance.now() - opened < settle) return;
      const { form, decision, targets } = confirmed;
      if (!document.contains(form) || !targets.every((id) => $(id))) { confirming.close(); say("It is answered already, or its time is over.", true); return; }
      confirmed = null;
      confirming.close();
      const fields = new URLSearchParams(new FormData(form));
      fields.set("decision", decision);
      if ($("confirm-reason").value) fields.set("reason", $("confirm-reason").value);
      send(form, fields).catch(() => say("The answer was not sent: the server cannot be reached.", true));
    };
    $("confirm-form").addEventListener("submit", (e) => { e.preventDefault(); take(); });
    confirming.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && !e.repeat && e.target !== $("confirm-no")) { e.preventDefault(); take(); }
      else if (e.key === "Enter" && e.repeat) e.preventDefault();
    });
    confirming.addEventListener("close", () => { confirmed = null; const ask = current && $(current); if (ask) ask.focus(); });
  }

  let keys = true;
  try { keys = localStorage.getItem("codemode-keys") !== "off"; } catch { /* nothing is remembered */ }
  if (help) {
    $("help-open").hidden = false;
    $("help-open").addEventListener("click", () => help.showModal());
    $("keys-on").checked = keys;
    $("keys-on").addEventListener("change", (e) => {
      keys = e.target.checked;
      try { localStorage.setItem("codemode-keys", keys ? "on" : "off"); } catch { /* nothing is remembered */ }
    });
  }
  const actions = {
    j: () => step(1),
    k: () => step(-1),
    x: () => { const box = at() && at().querySelector("input[form=batch]"); if (box) { box.checked = !box.checked; choose(); } else say("This one cannot be selected with others."); },
    a: () => confirmWith("allow"),
    d: () => confirmWith("deny"),
    r: () => confirmWith("deny", true),
    s: () => { const ask = at(); if (ask && list) location.assign(base + "/ask/" + encodeURIComponent(ask.id)); },
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (e) => {
    const act = actions[e.key];
    if (!act || !keys || e.repeat || e.ctrlKey || e.altKey || e.metaKey || e.isComposing || document.querySelector("dialog[open]")) return;
    if (e.target.closest("input:not([type=checkbox], [type=radio]), textarea, select")) return;
    e.preventDefault();
    if (early() && e.key !== "?") return;
    act();
  });
  document.addEventListener("focusin", (e) => { const ask = e.target.closest && e.target.closest(".ask"); if (ask) current = ask.id; });

  if (list) follows();
  choose();
  count(Number($("count")?.textContent));
})();
