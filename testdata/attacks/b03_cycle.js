// A cycle is a TypeError whose message names the path. Value.
try { await codemode.echo((() => { const o = { outer: {} }; o.outer.inner = o; return o; })()); return 'sent'; } catch (e) { return e instanceof TypeError && e.message.includes('inner'); }
