// A BigInt is a TypeError whose message names the path. Value.
try { await codemode.echo({ outer: { inner: 1n } }); return 'sent'; } catch (e) { return e instanceof TypeError && e.message.includes('inner'); }
