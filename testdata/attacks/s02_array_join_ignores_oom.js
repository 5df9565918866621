// Array.prototype.join ignores that its text no longer fits on a length of 2^53-1: a native loop that never asks whether to stop.
// The outer stop ends it.
return Array.prototype.join.call({ length: 2 ** 53 - 1 }, "x").length;
