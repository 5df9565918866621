// Takes the secret of a login link out of the address bar and exchanges it for a session. It stands behind the #, which browsers
// send to nobody.
"use strict";

(async () => {
  const base = document.body.dataset.base;
  const form = document.querySelector("form.login");
  const secret = location.hash.slice(1);
  const enter = () => location.replace(location.pathname === base + "/login" ? base + "/" : location.pathname + location.search);
  if (!form) return;
  if (secret) {
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await fetch(base + "/login", {
      method: "POST", headers: { "Content-Type": "application/json", "Accept": "application/json" }, body: JSON.stringify({ secret }),
    });
    const session = answer.ok && await fetch(base + "/api/session", { headers: { "Accept": "application/json" } });
    if (session && session.ok) return enter();
    form.querySelector(".problem").textContent = answer.ok ? "This browser did not keep the login: it takes no cookies from here." : (await answer.json()).error;
  } else if (location.pathname !== base + "/login") {
    // Somebody came here over a link elsewhere, with which browsers send no cookie. They may have logged in.
    const answer = await fetch(base + "/api/session", { headers: { "Accept": "application/json" } });
    if (answer.ok) return enter();
  }
  document.getElementById("secret").focus();
})();
