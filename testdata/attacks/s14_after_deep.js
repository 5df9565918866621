// The run after a possible trap has a guest that computes. Value.
return [1 + 1, [3, 1, 2].sort().join(), /b+/.exec("abbc")[0], JSON.stringify({ a: [null] })];
