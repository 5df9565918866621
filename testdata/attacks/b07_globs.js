// Names with glob syntax are unknown tools, not patterns. Value.
const names = ['*', 'ech*', 'ech?', '[e]cho', '{echo,secret}', '**', '!echo', 'e*o', 's*'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
