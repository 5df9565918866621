// The terms of a lookbehind are put in reverse order by moving all earlier ones: quadratic while the
// pattern is compiled. The outer stop ends it.
let n = 0;
for (;;) n += new RegExp('(?<=' + 'ab'.repeat(300000) + ')').source.length;
