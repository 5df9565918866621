// A class of thirty thousand methods.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 3e4; i++) s += 'm' + i + '(){}';
return Object.getOwnPropertyNames(eval('(class {' + s + '})').prototype).length;
