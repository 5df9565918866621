// 2^60 finally blocks: each level runs the next one twice, whatever happened. Ends at the time limit.
function f(n) {
  if (n === 0) { for (;;); }
  try { f(n - 1); } finally { f(n - 1); }
}
f(60);
