// A failing tool gives a catchable error with a message. Value.
try { await codemode.fail(); return 'no error'; } catch (e) { return e instanceof Error && typeof e.message === 'string' && e.message.length > 0; }
