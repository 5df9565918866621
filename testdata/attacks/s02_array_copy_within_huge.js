// Array.prototype.copyWithin on a length of 2^53-1: a native loop that never asks whether to stop.
// The outer stop ends it.
return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 1, 0);
