// A symbol as a value is a TypeError whose message names the path. Value.
try { await codemode.echo({ outer: { inner: Symbol('s') } }); return 'sent'; } catch (e) { return e instanceof TypeError && e.message.includes('inner'); }
