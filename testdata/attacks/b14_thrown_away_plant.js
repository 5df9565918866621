// The program throws while failing, denied and slow calls are open.
codemode.fail().catch(() => { globalThis.late = 1; });
codemode.secret().catch(() => { globalThis.late = 2; });
for (let i = 0; i < 3; i++) codemode.slow({ ms: 60 }).catch(() => { globalThis.late = 3; });
throw new Error('thrown away');
