// toString that makes text of itself.
// An error the guest sees, no crash.
const o = { toString() { return `${this}`; } };
return `${o}`;
