// Two hundred thousand keys: carried or refused, in bounded time. Value.
const o = {};
for (let i = 0; i < 200000; i++) o['k' + i] = i;
try { const r = await codemode.echo(o); return Object.keys(r).length === 200000; } catch (e) { return true; }
