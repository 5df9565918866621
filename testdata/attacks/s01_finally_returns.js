// return in finally swallows whatever was thrown, then the caller loops again. Ends at the time limit.
function f() { try { for (;;); } finally { return 1; } }
for (;;) f();
