// A hundred thousand iterator helpers on top of one another.
// An error the guest sees, no crash.
let it = [1, 2, 3].values();
for (let i = 0; i < 100000; i++) it = it.map(x => x);
return it.next().value;
