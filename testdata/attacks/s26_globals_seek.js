// Globals: nothing of what the run before planted is here. Value.
const seen = ['planted', 'plantedVar', 'plantedSloppy', 'plantedHidden', 'plantedEval', 'plantedFunction'].filter(n => n in globalThis);
let l = 'no';
try { l = (0, eval)('typeof plantedLet'); } catch (e) { }
return [seen.join(), l === 'no' || l === 'undefined', globalThis[Symbol.for('planted')] === undefined];
