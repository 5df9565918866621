// A million items come back: whole, or refused. Value.
try { const r = await codemode.echo(new Array(1e6).fill(7)); return r.length === 1e6; } catch (e) { return true; }
