// Error classes of the bridge, changed: nothing of what the run before planted is here. Value.
try { await codemode.secret(); return 'called'; } catch (e) { return [e instanceof Error, String(e).includes('planted'), e.name === 'planted']; }
