// Symbol.unscopables that never returns, asked by with. Ends at the time limit.
return Function("o", "with (o) { return x; }")({ x: 1, get [Symbol.unscopables]() { for (;;); } });
