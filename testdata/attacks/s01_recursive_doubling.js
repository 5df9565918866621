// Not a loop at all: 2^80 calls at depth 80. Ends at the time limit.
function f(n) { return n === 0 ? 1 : f(n - 1) + f(n - 1); }
return f(80);
