// A million different names in one function.
// Refused or done within the limits.
const s = [];
for (let i = 0; i < 1e6; i++) s.push('a' + i);
return eval('(function () { return [' + s.join() + ']; })') ? 1 : 0;
