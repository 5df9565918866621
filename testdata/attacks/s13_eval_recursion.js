// eval that evaluates itself.
// An error the guest sees, no crash.
const s = 'eval(s)';
return eval(s);
