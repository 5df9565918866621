// A hundred thousand nested classes (v flag) are refused while the pattern is compiled. An error, no crash.
return new RegExp('['.repeat(100000) + ']'.repeat(100000), 'v').source.length;
