// JSON.rawJSON writes an escaped half surrogate pair past a well-formedness check: replaced or refused. Value.
if (!JSON.rawJSON) return 'safe';
try { const r = await codemode.echo({ s: JSON.rawJSON('"\\ud800"') }); return typeof r.s !== 'string' || r.s.isWellFormed() ? 'safe' : 'passed through'; } catch (e) { return 'safe'; }
