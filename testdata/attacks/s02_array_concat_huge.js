// Array.prototype.concat on a length of 2^53-1: a native loop that never asks whether to stop.
// The outer stop ends it.
return [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }).length;
