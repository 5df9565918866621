// Ten thousand regular expression literals in one function.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 1e4; i++) s += '/a' + i + '{1,9}/u.test(x);';
return Function('x', s + 'return 1')('');
