// The answer to the run that was stopped comes now, and ends no call of this one. Value.
const start = Date.now();
const r = await codemode.slow({ ms: 600 });
return [r, Date.now() - start >= 595];
