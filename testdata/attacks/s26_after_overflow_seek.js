// State of a run that used up its stack: nothing of what the run before planted is here. Value.
let n = 0;
function f(k) { return k ? f(k - 1) + 1 : 0; }
return [typeof planted, f(300)];
