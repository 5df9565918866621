// getRandomValues refuses a quota-breaking request or fills it in bounds; floats are refused. Value.
let n = 0;
try { crypto.getRandomValues(new Uint8Array(65537)); n++; } catch (e) { }
try { crypto.getRandomValues(new Float64Array(4)); n++; } catch (e) { }
try { crypto.getRandomValues({ length: 4, byteLength: 1e9 }); n++; } catch (e) { }
return n;
