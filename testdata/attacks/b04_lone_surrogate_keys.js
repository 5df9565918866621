// Two keys that differ only in half surrogate pairs must not become one silently. Value.
try { const r = await codemode.echo({ '\ud800': 1, '\ud801': 2 }); return Object.keys(r).length === 2 ? 'two' : Object.keys(r).length === 1 ? 'merged' : 'odd'; } catch (e) { return 'two'; }
