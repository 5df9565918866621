// Names of a hundred thousand characters are unknown tools, in bounded time. Value.
const names = ['echo'.repeat(25000), 'a'.repeat(1e6), 'secret'.padEnd(100000, '_'), '__'.repeat(50000)];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
