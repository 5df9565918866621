// A hundred thousand nested groups are refused while the pattern is compiled. An error, no crash.
return new RegExp('(?:'.repeat(100000) + ')'.repeat(100000)).source.length;
