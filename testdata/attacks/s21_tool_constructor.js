// A tool function belongs to this guest; its constructor reaches no other world. Value.
try { return codemode.echo.constructor('return globalThis')() === globalThis; } catch (e) { return true; }
