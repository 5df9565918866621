// Removes the secret of a login link from the address bar and exchanges it for a session. It is after the #, which browsers do
// not send.
"use strict";

(async () => {
  const base = document.body.dataset.base;
  const form = document.querySelector("form.login");
  const secret = location.hash.slice(1);
  const wanted = location.pathname.slice(base.length).replace(/^\/s\/[^/]*/, ""); // without the session that it was in
  const enter = (path) => location.replace(path + (wanted === "/login" ? "/" : wanted || "/") + location.search);
  const session = async (path) => {
    const answer = await fetch(path + "/api/session", { headers: { "Accept": "application/json" } });
    return answer.ok && (await answer.json()).path;
  };
  if (!form) return;
  if (secret) {
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await fetch(base + "/login", {
      method: "POST", headers: { "Content-Type": "application/json", "Accept": "application/json" }, body: JSON.stringify({ secret }),
    });
    const got = await answer.json();
    const path = answer.ok && await session(got.path);
    if (path) return enter(path);
    form.querySelector(".problem").textContent = answer.ok ? "This browser did not keep the login: it does not accept cookies of this page." : got.error;
  } else if (location.pathname !== base + "/login") {
    // The link was from elsewhere, or the session is over. The person may have logged in: only the pages of a session know its path.
    let path = null;
    try { path = localStorage.getItem("codemode " + base); } catch { /* nothing is remembered */ }
    const inside = path && path.startsWith(base + "/s/") && /^[A-Z2-7]+$/.test(path.slice(base.length + 3));
    if (inside && await session(path)) return enter(path);
  }
  (document.getElementById("sign-in") || document.getElementById("secret")).focus();
})();
