// A timer wins against slow calls; when their answers come, nobody waits for them, and other calls have theirs. Value.
const out = [];
for (let i = 0; i < 5; i++) out.push(await Promise.race([codemode.slow({ ms: 50, i }), new Promise(r => setTimeout(r, 5, 'timer'))]));
for (let i = 0; i < 20; i++) { const r = await codemode.echo({ i }); if (r.i !== i) out.push(r); await codemode.slow({ ms: 2 }); }
return out;
