// Look-alikes of known names are unknown tools. Value.
const names = ['\u0435\u0441\u04bb\u043e', '\uff45\uff43\uff48\uff4f', '\u{1d41e}cho', 'ech\u00f8', '\u017fecret', 'se\u0441ret', 'ecﬀho'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
