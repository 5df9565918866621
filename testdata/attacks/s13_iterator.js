// Symbol.iterator that spreads itself.
// An error the guest sees, no crash.
const o = { [Symbol.iterator]() { return [...o]; } };
return [...o];
