// The first calls of this run have the numbers of the open calls before: no answer of those ends them early. Value.
const start = Date.now();
const r = await Promise.all(Array.from({ length: 6 }, () => codemode.slow({ ms: 200 })));
return [r.every(x => x === 'done'), Date.now() - start >= 195, typeof late];
