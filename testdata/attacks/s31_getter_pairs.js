// Twenty thousand getters and setters in one literal.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 1e4; i++) s += 'get a' + i + '(){return 1},set a' + i + '(v){},';
return Object.keys(eval('({' + s + '})')).length;
