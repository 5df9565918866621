// A class of three thousand private names.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 3e3; i++) s += '#p' + i + '=' + i + ';';
return eval('(class {' + s + ' get x() { return this.#p2999; } })').prototype.constructor.name.length;
