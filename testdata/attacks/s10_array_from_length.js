// Array.from of a length. Memory.
return Array.from({ length: 2 ** 31 }).length;
