// Error.captureStackTrace on objects of the engine, frozen ones and proxies changes nothing that others need. Value.
const targets = [codemode, codemode.echo, globalThis, Object.prototype, Promise.prototype, Object.freeze({}), new Proxy({}, { defineProperty() { throw 1; } }), [], () => {}, 1, null, undefined];
for (const t of targets) { try { Error.captureStackTrace(t); } catch (e) { } try { Error.captureStackTrace(t, codemode.echo); } catch (e) { } }
return await codemode.echo('alive');
