// Globals: planted here. The next run must not see it.
globalThis.planted = 'x';
var plantedVar = 1;
plantedSloppy = 2;
Object.defineProperty(globalThis, 'plantedHidden', { value: 3, enumerable: false, configurable: false });
globalThis[Symbol.for('planted')] = 4;
(0, eval)('var plantedEval = 5; let plantedLet = 6; function plantedFunction() {}');
return 'planted';
