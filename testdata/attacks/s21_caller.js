// Function.prototype.caller names nobody outside. Value.
let c;
try { c = (function f() { return f.caller; })(); } catch (e) { c = null; }
return c == null;
