// Three hundred nested for-of loops with an exit through all of them.
// Refused or done within the limits.
let s = 'return 1;';
for (let i = 0; i < 300; i++) s = 'for (const v' + i + ' of [1]) {' + s + '}';
return Function(s)();
