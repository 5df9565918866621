// The species constructor never returns. Ends at the time limit.
const a = [1];
a.constructor = { get [Symbol.species]() { for (;;); } };
return a.map(x => x);
