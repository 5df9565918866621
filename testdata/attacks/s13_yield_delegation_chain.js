// A hundred thousand suspended generators, each delegating to the one before.
// An error the guest sees, no crash.
function* g(i) { yield* i; }
let it = [1][Symbol.iterator]();
for (let i = 0; i < 100000; i++) it = g(it);
return it.next().value;
