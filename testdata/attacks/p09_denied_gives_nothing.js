// A denial carries nothing of what the tool would have said. Value.
try { await codemode.secret({ echo: 'marker-7391' }); return 'called'; } catch (e) { return /marker-7391/.test(String(e.stack) + e.message) ? 'echoed' : 'nothing'; }
