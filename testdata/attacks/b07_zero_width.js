// Known names with invisible characters are unknown tools. Value.
const names = ['ec\u200bho', 'echo\u200d', '\ufeffecho', 'echo\u2060', 'sec\u00adret', 'echo\ufe0f', '\u202eohce'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
