// Seventy thousand parameters.
// Refused or done within the limits.
const s = [];
for (let i = 0; i < 7e4; i++) s.push('p' + i);
return Function(...s, 'return 1')();
