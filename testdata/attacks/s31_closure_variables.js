// Functions that each close over ten thousand variables of their parents.
// A value or an error, no crash.
const s = [];
for (let i = 0; i < 1e4; i++) s.push('c' + i);
return Function('var ' + s.join() + '; return () => () => () => [' + s.join() + '].length')()()()();
