// Names with path syntax are unknown tools. Value.
const names = ['./echo', '../echo', '/echo', 'echo/', 'x/../echo', 'echo/../secret', 'C:\\echo', 'file:echo', '..', '.', ''];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
