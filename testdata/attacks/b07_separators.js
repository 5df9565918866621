// Names with server separators that do not exist are unknown tools. Value.
const names = ['__echo', 'echo__', '_echo', 'x__echo', 'echo__echo', 'echo.echo', '.echo', 'echo:echo', 'echo::', 'codemode.echo', 'codemode__echo', 'builtin__echo', 'undefined__echo', '__'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
