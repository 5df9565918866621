// Nine hundred calls of unknown tools with long names. Value.
const r = await Promise.allSettled(Array.from({ length: 900 }, async (_, i) => codemode['nosuch' + i + 'x'.repeat(1000)]({})));
return r.every(x => x.status === 'rejected');
