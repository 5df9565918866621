// Shows the arguments of a call as a form beside their JSON, while a person changes them. The JSON is what is sent. The form
// changes only the parts of its text that its fields are for: the rest stays as it was written, letter by letter. Without this
// script there is only the JSON. The script makes no HTML of texts: the server wrote the fields.
"use strict";

(() => {
  const box = document.querySelector("details.edit .fields"), json = document.getElementById("args");
  if (!box || !json) return;

  // Reading. A node says where in the text a value stands; the text is known to be JSON.

  const scalar = /"(?:[^"\\]|\\.)*"|[^\s,:\]}]+/y, space = /\s*/y;
  const read = (text) => {
    JSON.parse(text); // throws where it is not JSON
    let at = 0;
    const skip = () => { space.lastIndex = at; space.exec(text); at = space.lastIndex; };
    const token = () => { scalar.lastIndex = at; const found = scalar.exec(text)[0]; at = scalar.lastIndex; return found; };
    const value = () => {
      skip();
      const from = at, open = text[at];
      if (open !== "{" && open !== "[") { const source = token(); return { from, to: at, source }; }
      const members = [];
      for (at++, skip(); text[at] !== "}" && text[at] !== "]"; skip()) {
        if (text[at] === ",") { at++; skip(); }
        const member = { from: at, key: String(members.length) };
        if (open === "{") { member.key = JSON.parse(token()); skip(); at++; }
        member.node = value();
        members.push(member);
      }
      return { from, to: ++at, members, list: open === "[" };
    };
    return value();
  };
  const path = (pointer) => pointer.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const member = (node, key) => {
    const found = node.members.filter((m) => m.key === key);
    if (found.length > 1) throw new Error("a key stands there twice");
    return found[0];
  };
  // find is the node under a path, undefined if nothing is there. Where something stands in the way it throws.
  const find = (node, keys) => {
    for (const key of keys) {
      if (!node.members || node.list && !/^\d+$/.test(key)) throw new Error("it is something else");
      const found = member(node, key);
      if (!found) return undefined;
      node = found.node;
    }
    return node;
  };

  // Writing. Each gives the text with one piece of it changed.

  const hidden = /[^\p{L}\p{N}\p{P}\p{S}\p{Mn}\p{Mc} \n\t]|\p{Default_Ignorable_Code_Point}|[\u2800\ufffc]/u;
  const quoted = (s) => JSON.stringify(s).replace(new RegExp(hidden.source, "gu"), (c) => [...Array(c.length).keys()].map((i) => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join(""));
  const lineOf = (text, at) => /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1))[0];
  const put = (text, keys, source) => {
    let node = read(text);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i], found = member(node, key);
      if (found) { node = found.node; continue; }
      const inner = keys.slice(i + 1).reduceRight((all, k) => "{" + quoted(k) + ": " + all + "}", source);
      const piece = node.list ? inner : quoted(key) + ": " + inner;
      if (node.members.length === 0) {
        const margin = lineOf(text, node.from);
        return text.slice(0, node.from + 1) + "\n" + margin + "  " + piece + "\n" + margin + text.slice(node.to - 1);
      }
      const last = node.members.at(-1), between = text.slice(node.from + 1, node.members[0].from);
      return text.slice(0, last.node.to) + "," + (between || " ") + piece + text.slice(last.node.to);
    }
    return text.slice(0, node.from) + source + text.slice(node.to);
  };
  const drop = (text, keys) => {
    const parent = find(read(text), keys.slice(0, -1));
    const i = parent ? parent.members.findIndex((m) => m.key === keys.at(-1)) : -1;
    if (i < 0) return text;
    const all = parent.members;
    if (all.length === 1) return text.slice(0, parent.from + 1) + text.slice(parent.to - 1);
    if (i === 0) return text.slice(0, all[0].from) + text.slice(all[1].from);
    return text.slice(0, all[i - 1].node.to) + text.slice(all[i].node.to);
  };

  // The form.

  const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
  const control = (field) => field.querySelector(":scope > :is(textarea, input, select)");
  const holds = (field, node) => { // what a control shows of a node; it throws where it can show none
    if (!node || node.source === "null" && "null" in field.dataset) return "";
    if (node.members) throw new Error("it is not one value");
    const value = JSON.parse(node.source);
    if (field.dataset.kind === "choice") {
      const same = [...control(field).options].find((o) => o.value && JSON.stringify(JSON.parse(o.value)) === JSON.stringify(value));
      if (!same) throw new Error("it is none of the options");
      return same.value;
    }
    if (typeof value === "number" && field.dataset.kind === "number") return node.source;
    if (typeof value !== "string" || value.includes("\r") || hidden.test(value)) throw new Error("it does not show");
    if (field.dataset.kind === "number" && /\s/.test(value)) throw new Error("it does not show");
    return value;
  };
  const unfit = (field, yes) => {
    field.querySelector(":scope > .unfit").hidden = !yes;
    if (control(field)) { control(field).disabled = yes; if (yes) control(field).value = ""; }
  };
  const showOne = (field, root) => {
    try {
      const value = holds(field, find(root, path(field.dataset.at))), c = control(field);
      unfit(field, false);
      if (c !== document.activeElement && c.value !== value) c.value = value;
      if (c.value !== value && c !== document.activeElement) throw new Error("it does not show");
      if (c.matches("textarea") && value.length > 70) c.rows = Math.min(12, Math.max(c.rows, 3));
    } catch { if (control(field) !== document.activeElement) unfit(field, true); } // nothing is taken from under who types
  };
  const showList = (field, root) => {
    const items = field.querySelector(".items"), template = field.querySelector("template");
    let node, fits = true;
    try { node = find(root, path(field.dataset.at)); fits = !node || !!node.list; } catch { fits = false; }
    unfit(field, !fits);
    field.querySelector(".add").disabled = !fits;
    const n = fits && node ? node.members.length : 0;
    while (items.children.length > n) items.lastElementChild.remove();
    while (items.children.length < n) {
      const i = items.children.length, one = template.content.firstElementChild.cloneNode(true);
      for (const e of one.querySelectorAll("[id]")) e.id += "-" + i;
      for (const e of one.querySelectorAll("[aria-describedby]")) e.setAttribute("aria-describedby", e.getAttribute("aria-describedby").replaceAll(/\S+/g, (id) => id + "-" + i));
      const label = one.querySelector("label"), name = field.querySelector("legend").firstChild.textContent.trim() + " " + (i + 1);
      label.htmlFor += "-" + i;
      label.textContent = name;
      one.dataset.at = field.dataset.at + "/" + i;
      one.dataset.required = "";
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "plain small remove";
      remove.textContent = "Remove";
      remove.setAttribute("aria-label", "Remove " + name);
      one.append(remove);
      items.append(one);
    }
  };
  const fields = (kind) => [...box.querySelectorAll(".field[data-kind=" + kind + "]")];
  const show = () => {
    let root;
    try { root = read(json.value); } catch { root = null; }
    box.disabled = !root;
    box.querySelector(".broken").hidden = !!root;
    if (!root) return;
    for (const list of fields("list")) showList(list, root);
    for (const kind of ["text", "number", "choice"]) for (const field of fields(kind)) showOne(field, root);
    const known = new Set([...box.querySelectorAll(":scope > .field")].map((f) => path(f.dataset.at)[0]));
    const others = (root.members || []).map((m) => m.key).filter((key) => !known.has(key));
    box.querySelector(".others").hidden = others.length === 0;
    box.querySelector(".others span").textContent = others.map(quoted).join(", ");
  };

  // A problem is shown at its field until that is changed.

  const problem = (field, text) => {
    const place = field.querySelector(":scope > .problem"), c = control(field);
    place.textContent = text;
    if (!c) return;
    if (text) c.setAttribute("aria-invalid", "true");
    else c.removeAttribute("aria-invalid");
  };
  const solved = () => {
    for (const field of box.querySelectorAll(".field")) problem(field, "");
    json.removeAttribute("aria-invalid");
  };
  json.form.addEventListener("refused", (e) => {
    const { pointer, error } = e.detail;
    solved();
    for (let at = pointer || ""; at; at = at.slice(0, at.lastIndexOf("/"))) {
      const field = [...box.querySelectorAll(".field")].find((f) => f.dataset.at === at);
      if (!field) continue;
      const c = control(field);
      problem(field, error);
      if (c && !c.disabled) c.focus();
      else field.scrollIntoView({ block: "nearest" });
      if (!c || !c.disabled) return;
    }
    json.setAttribute("aria-invalid", "true");
    json.focus();
    try { const node = find(read(json.value), path(pointer || "")); if (node && pointer) json.setSelectionRange(node.from, node.to); } catch { /* it is not there */ }
  });

  const change = (keys, source) => {
    let text = source === undefined ? drop(json.value, keys) : put(json.value, keys, source);
    // An object that may be left out goes with the last thing in it.
    for (let up = keys.slice(0, -1); source === undefined && up.length; up = up.slice(0, -1)) {
      const field = fields("object").find((f) => path(f.dataset.at).join("/") === up.join("/"));
      const node = find(read(text), up);
      if (!field || "required" in field.dataset || !node || !node.members || node.members.length) break;
      text = drop(text, up);
    }
    json.value = text;
    show();
  };
  const taken = (field, c) => {
    const keys = path(field.dataset.at), must = "required" in field.dataset, item = field.parentElement.matches(".items");
    const kind = field.dataset.kind, v = kind === "number" ? c.value.trim() : c.value;
    problem(field, kind === "number" && v && !number.test(v) ? "This is not a number." : "");
    if (v === "" && (must || item) && "null" in field.dataset) return change(keys, "null");
    if (v === "" && (kind === "text" && must || item)) return change(keys, '""');
    if (v === "") return change(keys, undefined);
    if (kind === "choice" || kind === "number" && number.test(v)) return change(keys, v);
    change(keys, quoted(v)); // also what is no number yet: it stays as it was typed, and is not taken as it is
  };
  box.addEventListener("input", (e) => {
    const field = e.target.closest(".field");
    if (field) try { taken(field, e.target); } catch { unfit(field, true); }
  });
  box.addEventListener("focusout", () => setTimeout(show)); // what was typed shows as it is read
  box.addEventListener("click", (e) => {
    const field = e.target.closest(".field");
    if (!field || !e.target.matches(".add, .remove")) return;
    const list = field.closest("[data-kind=list]");
    try {
      if (e.target.matches(".add")) {
        const node = find(read(json.value), path(list.dataset.at)), kind = list.querySelector("template").content.firstElementChild;
        const first = kind.dataset.kind === "choice" ? kind.querySelector("option:not([value=''])").value : kind.dataset.kind === "number" ? "0" : '""';
        change(path(list.dataset.at).concat(node ? String(node.members.length) : []), node ? first : "[" + first + "]");
        control(list.querySelector(".items").lastElementChild).focus();
      } else {
        change(path(field.dataset.at), undefined);
        list.querySelector(".add").focus();
      }
      solved();
    } catch { show(); }
  });
  json.addEventListener("input", () => { solved(); show(); });

  box.hidden = false;
  show();
})();
