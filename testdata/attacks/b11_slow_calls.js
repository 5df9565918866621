// Hundreds of slow calls that are awaited: ends at the time limit, all of them given up.
await Promise.all(Array.from({ length: 500 }, () => codemode.slow({ ms: 30000 })));
return 1;
