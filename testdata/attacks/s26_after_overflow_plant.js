// State of a run that used up its stack: planted here. The next run must not see it.
globalThis.planted = 'x';
function f() { return f() + 1; }
return f();
