// Known names with NUL are unknown tools: nobody stops reading there. Value.
const names = ['echo\u0000', 'echo\u0000secret', '\u0000echo', 'secret\u0000', 'sec\u0000ret'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
