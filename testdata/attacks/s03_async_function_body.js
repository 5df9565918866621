// An async function body: does its promise swallow the interrupt? The outer stop ends it.
async function f() { for (;;); }
for (;;) { try { await f(); } catch (e) { } }
