// At the edge of the stack each handler calls again: the engine has to fail while it handles a failure.
// Ends at the time limit, or by another limit before.
function f() { try { f(); } catch (e) { f(); } finally { f(); } }
f();
return 1;
