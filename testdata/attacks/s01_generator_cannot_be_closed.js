// A generator whose finally block loops when it is closed. Ends at the time limit.
function* g() { try { yield 1; } finally { for (;;); } }
for (const x of g()) break;
return 1;
