// String.raw on a length of 2^53-1: no poll, and it does not notice that its text no longer fits.
// The outer stop ends it.
return String.raw({ raw: { length: 2 ** 53 - 1 } });
