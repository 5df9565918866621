// slow with odd times answers or fails, and does not hold the run. Value.
const r = await Promise.allSettled([codemode.slow({ ms: 0 }), codemode.slow({ ms: 1 })]);
return r.every(x => x.status === 'fulfilled');
