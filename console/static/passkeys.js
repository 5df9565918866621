// Uses passkeys (WebAuthn): to confirm an answer or a change, and to add one. The other scripts call codemodePasskey.
"use strict";

(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const named = (list) => (list || []).map((c) => ({ ...c, id: bytes(c.id) }));
  const credential = (got, response) => JSON.stringify({
    id: got.id, rawId: text(got.rawId), type: got.type, clientExtensionResults: got.getClientExtensionResults(), response,
  });

  // codemodePasskey has the person use one of their passkeys, and gives what proves it.
  window.codemodePasskey = async (options) => {
    if (!navigator.credentials) throw new Error("this browser has no passkeys");
    const got = await navigator.credentials.get({ publicKey: {
      ...options, challenge: bytes(options.challenge), allowCredentials: named(options.allowCredentials),
    } });
    return credential(got, {
      clientDataJSON: text(got.response.clientDataJSON), authenticatorData: text(got.response.authenticatorData),
      signature: text(got.response.signature), userHandle: got.response.userHandle ? text(got.response.userHandle) : undefined,
    });
  };

  const make = async (options) => {
    if (!navigator.credentials) throw new Error("this browser has no passkeys");
    const got = await navigator.credentials.create({ publicKey: {
      ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: named(options.excludeCredentials),
    } });
    return credential(got, {
      clientDataJSON: text(got.response.clientDataJSON), attestationObject: text(got.response.attestationObject),
      transports: got.response.getTransports ? got.response.getTransports() : [],
    });
  };

  // codemodePasskeyProblem says in words why no passkey was used.
  window.codemodePasskeyProblem = (e) => {
    if (e.name === "InvalidStateError") return "This device has one of your passkeys already.";
    if (e.name === "NotAllowedError" || e.name === "AbortError") return "No passkey was used: it was not confirmed, or took too long.";
    if (e.name === "SecurityError") return "The browser uses no passkeys at this address.";
    return "No passkey was used: " + e.message;
  };

  // A form with the options of a passkey gets it when its button is pressed, and is sent with it.
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const problem = form.querySelector(".problem"), button = form.querySelector("button");
    button.disabled = false;
    form.addEventListener("submit", async (e) => {
      e.preventDefault();
      button.disabled = true;
      problem.textContent = "";
      try {
        const options = JSON.parse(form.dataset.passkey);
        form.querySelector("input.assertion").value = await (form.hasAttribute("data-make") ? make(options) : window.codemodePasskey(options));
        form.submit();
      } catch (error) {
        problem.textContent = window.codemodePasskeyProblem(error);
        button.disabled = false;
        button.focus();
      }
    });
  }
})();
