// An async generator that yields for ever. Ends at the time limit.
async function* g() { for (;;) yield 1; }
let n = 0;
for await (const x of g()) n += x;
return n;
