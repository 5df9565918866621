// stack, cause, message and prepareStackTrace as accessors that throw, free and replace things.
// The engine must stay sound: value.
Error.prepareStackTrace = (e, sites) => { sites.forEach(s => { try { s.getFunctionName(); s.getLineNumber(); s.toString(); } catch (x) { } }); sites.length = 0; Error.prepareStackTrace = undefined; throw new Error('again'); };
for (let i = 0; i < 100; i++) { try { null.x; } catch (e) { try { e.stack; } catch (x) { } } }
Error.prepareStackTrace = (e, sites) => sites;
const kept = [];
for (let i = 0; i < 60; i++) { (function f(n) { if (n) f(n - 1); else kept.push(new Error('x').stack); })(i); }
Error.prepareStackTrace = undefined;
for (const s of kept) for (const c of s || []) { if (c && c.getFunction) c.getFunction(); }
for (const k of ['name', 'message', 'cause', 'stack']) { try { String(Object.defineProperty(new Error('x'), k, { get() { throw 1; } })); } catch (e) { } }
for (const lim of [0, -1, NaN, 1e9, '3', null, {}]) { Error.stackTraceLimit = lim; new Error().stack; Error.captureStackTrace({}, v => v); }
Error.stackTraceLimit = 10;
return 'alive';
