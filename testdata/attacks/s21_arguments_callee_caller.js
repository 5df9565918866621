// arguments.callee.caller names nobody outside. Value.
let c;
try { c = (function () { return arguments.callee.caller; })(); } catch (e) { c = null; }
return c == null;
