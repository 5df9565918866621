// A BigInt in an array is a TypeError whose message names the path. Value.
try { await codemode.echo({ list: [1, 2, 3n] }); return 'sent'; } catch (e) { return e instanceof TypeError && e.message.includes('list'); }
