// None of the names of power is a tool of a program. Value.
const names = ['codemode_eval', 'codemode_eval_safe', 'codemode_eval_default', 'codemode_check', 'approve', 'approvals', 'allow', 'grant', 'set_profile', 'profile', 'config', 'reload', 'admin', 'audit', 'exec', 'shell', 'run', 'tools/call', 'elicitation/create', 'ask_user_yes'];
let n = 0;
for (const name of names) { try { await codemode[name]({ profile: 'unrestricted' }); n++; } catch (e) { } }
return n;
