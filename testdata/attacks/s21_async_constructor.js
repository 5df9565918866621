// The constructor of async functions makes code of this guest only. Value.
try { return await (async () => {}).constructor('return globalThis')() === globalThis; } catch (e) { return true; }
