// The same from a getter of the result. Value.
return { get x() { codemode.slow({ ms: 1000 }).catch(() => {}); return 'written'; } };
