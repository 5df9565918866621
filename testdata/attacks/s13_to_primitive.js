// Symbol.toPrimitive that compares itself.
// An error the guest sees, no crash.
const o = { [Symbol.toPrimitive]() { return o < 1; } };
return o < 1;
