// replaceAll looks for its text with the same quadratic search. The outer stop ends it.
const a = 'a'.repeat(4e6);
return a.replaceAll('a'.repeat(2e6) + 'b', '').length;
