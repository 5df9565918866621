// JSON.rawJSON can write 1e400: it must be refused or arrive as a finite number or null. Value.
if (!JSON.rawJSON) return 'safe';
try { const r = await codemode.echo({ n: JSON.rawJSON('1e400') }); return r.n === null || typeof r.n === 'object' || Number.isFinite(r.n) ? 'safe' : 'got ' + r.n; } catch (e) { return 'safe'; }
