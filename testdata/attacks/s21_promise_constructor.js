// The promise of a call belongs to this guest. Value.
const p = codemode.echo(1);
await p;
try { return p.constructor === Promise && p.constructor.constructor('return globalThis')() === globalThis; } catch (e) { return true; }
