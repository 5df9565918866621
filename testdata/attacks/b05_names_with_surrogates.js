// A tool name with half a surrogate pair is an unknown tool. Value.
try { await codemode['ech\ud800o']({}); return 'called'; } catch (e) { return 'refused'; }
