// Recursion through natives, close to where the stack really ends: if it traps, nobody may get this
// guest again.
const f = n => { try { return [n].map(f)[0]; } catch (e) { return new RegExp('(?:'.repeat(2000) + ')'.repeat(2000)).test('') || JSON.parse('['.repeat(3000)); } };
return f(0);
