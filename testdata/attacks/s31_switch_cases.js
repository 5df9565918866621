// A switch of ten thousand cases.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 1e4; i++) s += 'case ' + i + ': r = ' + i + '; break;';
return Function('x', 'let r; switch (x) {' + s + '} return r')(9999);
