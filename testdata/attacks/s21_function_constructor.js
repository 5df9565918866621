// The constructor of every function makes code of this guest only. Value.
try { return (() => {}).constructor('return globalThis')() === globalThis; } catch (e) { return true; }
