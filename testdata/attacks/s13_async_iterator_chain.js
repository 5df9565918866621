// Async generators that delegate to one another, tens of thousands deep.
// An error the guest sees, no crash.
async function* g(i) { yield* i; }
let it = (async function* () { yield 1; })();
for (let i = 0; i < 30000; i++) it = g(it);
const r = await it.next();
return r.value;
