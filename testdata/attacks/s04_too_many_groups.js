// Seventy thousand groups are refused while the pattern is compiled. A syntax error.
return new RegExp('(a)'.repeat(70000)).source.length;
