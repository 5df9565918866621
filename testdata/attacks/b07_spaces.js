// Known names with spaces, tabs and line breaks are unknown tools. Value.
const names = ['echo ', ' echo', 'echo\t', 'echo\n', 'echo\u00a0', 'ec ho', 'secret ', ' secret', 'echo\r\nsecret'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
