// A class is a TypeError whose message names the path. Value.
try { await codemode.echo({ outer: { inner: class {} } }); return 'sent'; } catch (e) { return e instanceof TypeError && e.message.includes('inner'); }
