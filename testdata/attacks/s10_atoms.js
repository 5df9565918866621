// Property names that are all different: the atom table. Memory.
const o = {};
for (let i = 0; ; i++) o['p' + i] = 0;
