// An iterator without end in an argument ends with an error, and the run goes on. Value.
let closed = false;
function* endless() { try { for (let i = 0; ; i++) yield i; } finally { closed = true; } }
try { await codemode.echo([endless()]); return 'sent'; } catch (e) { return [closed, await codemode.echo('alive')]; }
