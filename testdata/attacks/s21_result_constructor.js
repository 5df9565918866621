// A result of a call is plain data of this guest. Value.
const r = await codemode.echo({ a: [1] });
try { return Object.getPrototypeOf(r) === Object.prototype && Array.isArray(r.a) && r.constructor.constructor('return globalThis')() === globalThis; } catch (e) { return true; }
