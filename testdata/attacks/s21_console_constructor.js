// The console belongs to this guest. Value.
try { return console.log.constructor('return globalThis')() === globalThis; } catch (e) { return true; }
