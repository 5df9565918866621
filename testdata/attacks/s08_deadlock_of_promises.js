// Two promises that wait for each other. Error.
const a = (async () => { await null; await b; })();
const b = (async () => { await null; await a; })();
await a;
return 1;
