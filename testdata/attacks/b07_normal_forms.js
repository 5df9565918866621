// Names that only normalisation makes equal are unknown tools. Value.
const names = ['e\u0301cho', 'ec\u030cho', '\u2071cho', '\u{1f150}cho'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
