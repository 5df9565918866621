// Ten thousand small evals in one run. Value.
let n = 0;
for (let i = 0; i < 10000; i++) n += eval('1');
return n;
