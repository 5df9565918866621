// Refusals of the quota are caught for ever? The run must still end or give its value. Value.
let ok = 0, bad = 0;
for (let i = 0; i < 5000; i++) { try { await codemode.echo(1); ok++; } catch (e) { bad++; } }
return ok >= 1000 && ok + bad === 5000;
