// Other cases of a known name are unknown tools. Value.
const names = ['Echo', 'ECHO', 'eCho', 'SECRET', 'Secret', '\u0435cho', 'e\u0441ho'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
