// Calls whose names are megabytes, hundreds at once: a name is held like an argument.
// Each is refused; value. Time or memory may end it before.
const s = 'x'.repeat(1e6);
const r = await Promise.allSettled(Array.from({ length: 300 }, async (_, i) => codemode[s + i]({})));
return r.every(x => x.status === 'rejected');
