// A frozen world: nothing of what the run before planted is here. Value.
globalThis.fresh = 1;
Array.prototype.fresh = 2;
Math.fresh = 3;
return [fresh, [].fresh, Math.fresh, Object.isFrozen(JSON)];
