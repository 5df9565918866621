// Ten thousand functions beside one another.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 1e4; i++) s += 'function f' + i + '(){return ' + i + '}';
return Function(s + 'return f9999()')();
