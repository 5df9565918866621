// Classes, each with methods and private names. Memory.
const a = [];
for (;;) a.push(class { #x = 1; get x() { return this.#x; } static y = 2; });
