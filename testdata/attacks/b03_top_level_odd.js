// A function, a symbol or a BigInt as the whole argument is a TypeError. Value.
let n = 0;
for (const x of [() => 1, Symbol('x'), 1n]) { try { await codemode.echo(x); } catch (e) { if (e instanceof TypeError) n++; } }
return n;
