// JSON.rawJSON can write digits that no double holds: what arrives is one number, the same for all. Value.
if (!JSON.rawJSON) return 'safe';
try { const r = await codemode.echo([JSON.rawJSON('12345678901234567890'), JSON.rawJSON('-0')]); return Number(r[0]) === 12345678901234567890 || typeof r[0] === 'object' ? 'safe' : 'odd'; } catch (e) { return 'safe'; }
