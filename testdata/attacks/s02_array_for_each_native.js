// Array.prototype.forEach with a native callback on a length of 2^53-1: a native loop that never asks whether to stop.
// The outer stop ends it.
Array.prototype.forEach.call({ length: 2 ** 53 - 1 }, Boolean);
return 1;
