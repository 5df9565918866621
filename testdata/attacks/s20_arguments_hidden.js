// arguments of the wrapper carries nothing, if it exists at all. Value.
let n = 0;
try { n = eval('arguments.length'); } catch (e) { }
return n;
