// The error of a denied call belongs to this guest. Value.
try { await codemode.secret(); return 'called'; } catch (e) { try { return e.constructor.constructor('return globalThis')() === globalThis; } catch (x) { return true; } }
