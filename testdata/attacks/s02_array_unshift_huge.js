// Array.prototype.unshift on a length of 2^53-1: a native loop that never asks whether to stop.
// The outer stop ends it.
return Array.prototype.unshift.call({ length: 2 ** 53 - 2 }, 1);
