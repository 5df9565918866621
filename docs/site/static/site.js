// Search, the theme and buttons that copy. Without this script the pages can be read all the same.
"use strict";

// The theme: as the system has it, or as the button says.
{
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch {}
    label();
  });
  system.addEventListener("change", label);
  label();
  button.hidden = false;
}

// A button on each block of code. Where the browser allows no copying, there is none.
if (navigator.clipboard) {
  for (const pre of document.querySelectorAll("article pre")) {
    const frame = document.createElement("div");
    frame.className = "code";
    pre.replaceWith(frame);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent.replace(/\n$/, ""));
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    frame.append(pre, button);
  }
}

// The section in view is marked in the list of contents.
{
  const links = new Map();
  for (const link of document.querySelectorAll("aside a")) links.set(decodeURIComponent(link.hash.slice(1)), link);
  const headings = [...document.querySelectorAll("article h2[id]")].filter(h => links.has(h.id));
  const mark = () => {
    let now = null;
    for (const h of headings) if (h.getBoundingClientRect().top < innerHeight / 3) now = h;
    for (const [id, link] of links) link.classList.toggle("now", now?.id === id);
  };
  if (headings.length) {
    addEventListener("scroll", mark, { passive: true });
    mark();
  }
}

// Search: every word has to occur in a part of a page. Words in headings count more than words in the text.
{
  const root = new URL(".", document.currentScript?.src ?? document.querySelector("script[src$='site.js']").src);
  const query = document.getElementById("query");
  const list = document.getElementById("found");
  const count = document.getElementById("count");
  const most = 12;
  let parts; // a promise of the index, once somebody searches
  let active = -1;

  const load = () => parts ??= fetch(new URL("search.json", root)).then(answer => {
    if (!answer.ok) throw new Error(`search.json: ${answer.status}`);
    return answer.json();
  }).then(all => all.map(p => {
    return { ...p, title: p.t.toLowerCase(), heading: p.h.toLowerCase(), text: p.x.toLowerCase() };
  }));

  const weigh = (part, words) => {
    let sum = 0;
    for (const word of words) {
      let points = 0;
      if (part.heading.includes(word)) points += 20;
      if (part.title.includes(word)) points += part.heading ? 8 : 25;
      const at = part.text.indexOf(word);
      if (at >= 0) {
        points += 1 + Math.min(part.text.split(word, 7).length - 1, 6);
        if (at === 0 || /[^\p{L}\p{N}]/u.test(part.text[at - 1])) points += 2;
      }
      if (!points) return 0;
      sum += points;
    }
    return sum;
  };

  const excerpt = (part, words) => {
    const first = Math.min(...words.map(w => part.text.indexOf(w)).filter(at => at >= 0));
    const from = Number.isFinite(first) ? Math.max(0, first - 50) : 0;
    const text = (from ? "… " : "") + part.x.slice(from, from + 170) + (from + 170 < part.x.length ? " …" : "");
    const marked = [];
    const lower = text.toLowerCase();
    for (let at = 0; at < text.length;) {
      const next = words.map(w => [lower.indexOf(w, at), w.length]).filter(([i]) => i >= 0)
        .sort((a, b) => a[0] - b[0])[0];
      if (!next) { marked.push(text.slice(at)); break; }
      marked.push(text.slice(at, next[0]));
      const mark = document.createElement("mark");
      mark.textContent = text.slice(next[0], next[0] + next[1]);
      marked.push(mark);
      at = next[0] + next[1];
    }
    return marked;
  };

  const note = text => Object.assign(document.createElement("li"), { textContent: text, className: "none" });

  const close = () => {
    list.hidden = true;
    active = -1;
    query.setAttribute("aria-expanded", "false");
    query.removeAttribute("aria-activedescendant");
  };

  const choose = to => {
    const items = [...list.querySelectorAll("[role=option]")];
    if (!items.length) return;
    active = (to + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    items[active].scrollIntoView({ block: "nearest" });
    query.setAttribute("aria-activedescendant", items[active].id);
  };

  const show = async () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) {
      count.textContent = "";
      return close();
    }
    let all;
    try {
      all = await load();
    } catch {
      parts = undefined;
      list.replaceChildren(note("The index cannot be loaded."));
      list.hidden = false;
      return;
    }
    if (words.join() !== query.value.toLowerCase().split(/\s+/).filter(Boolean).join()) return; // somebody wrote on
    const found = all.map(part => [weigh(part, words), part]).filter(([points]) => points)
      .sort((a, b) => b[0] - a[0]).slice(0, most).map(([, part]) => part);
    list.replaceChildren(...found.map((part, i) => {
      const item = document.createElement("li");
      item.id = `found-${i}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      const link = document.createElement("a");
      link.href = new URL(part.a || "index.html", root);
      link.tabIndex = -1;
      const name = document.createElement("strong");
      name.textContent = part.h ? `${part.t}: ${part.h}` : part.t;
      const text = document.createElement("span");
      text.append(...excerpt(part, words));
      link.append(name, text);
      item.append(link);
      return item;
    }));
    if (!found.length) {
      list.replaceChildren(note("Nothing found."));
    }
    count.textContent = found.length === 1 ? "1 result" : `${found.length} results`;
    list.hidden = false;
    active = -1;
    query.removeAttribute("aria-activedescendant");
    query.setAttribute("aria-expanded", "true");
  };

  query.addEventListener("focus", load, { once: true });
  query.addEventListener("input", show);
  query.addEventListener("keydown", event => {
    if (event.key === "ArrowDown") choose(active + 1);
    else if (event.key === "ArrowUp") choose(active < 0 ? -1 : active - 1);
    else if (event.key === "Enter") (list.querySelector("[aria-selected=true] a") ?? list.querySelector("a"))?.click();
    else if (event.key === "Escape") { query.value = ""; close(); query.blur(); }
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", event => {
    if (event.target.closest("a")) close();
  });
  document.addEventListener("pointerdown", event => {
    if (!event.target.closest(".search")) close();
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    query.focus();
  });
  query.closest(".search").hidden = false;
}
