// A chain of iterator helpers is closed: each closes the next.
// An error the guest sees, or the guest is thrown away; the host lives.
let it = (function* () { yield 1; })();
it.next();
for (let i = 0; i < 30000; i++) it = it.map(x => x);
return it.return().done;
