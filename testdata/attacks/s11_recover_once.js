// One allocation that cannot work is caught; the program goes on and gives its value. Value, or memory.
let failed = false;
try { new Uint8Array(1e9); } catch (e) { failed = true; }
return failed;
