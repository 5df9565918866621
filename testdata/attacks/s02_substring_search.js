// indexOf of a needle that nearly matches everywhere: n*m comparisons in one native call.
// The outer stop ends it.
const a = 'a'.repeat(4e6);
return a.indexOf('a'.repeat(2e6) + 'b');
