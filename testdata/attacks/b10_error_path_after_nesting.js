// The path in the message of a refused argument is right after a nested call inside it. Value.
let m = '';
try { await codemode.echo({ first: { toJSON() { codemode.echo({ other: [1, { deep: 2 }] }).catch(() => {}); return 1; } }, second: { third: () => 1 } }); } catch (e) { m = e.message; }
return m.includes('second') && m.includes('third') && !m.includes('other');
