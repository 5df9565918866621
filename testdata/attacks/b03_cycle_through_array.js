// A cycle through arrays and toJSON is found. Value.
const a = [];
a.push({ toJSON: () => a });
try { await codemode.echo(a); return 'sent'; } catch (e) { return 'refused'; }
