// A hundred thousand locals in one function.
// Refused or done within the limits.
const s = [];
for (let i = 0; i < 1e5; i++) s.push('v' + i);
return Function('var ' + s.join() + '; return 1')();
