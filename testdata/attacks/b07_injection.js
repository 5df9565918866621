// Names with other languages in them are unknown tools. Value.
const names = ["echo'", 'echo"', 'echo`', 'echo;', 'echo&&secret', 'echo|secret', '$(echo)', '${echo}', '%65cho', 'echo%00', '{"name":"echo"}', 'echo","x":"', '<echo>', 'echo#', 'echo?', 'echo=1'];
for (const name of names) { try { await codemode[name]({}); return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
