// It is stopped in a switch of a hundred thousand cases, and the host asks where. Timeout.
const f = (0, eval)(`(function (a) { switch (a) { ${Array.from({ length: 100000 }, (_, i) => `case ${i}:`).join("")} } })`);
for (;;) f(-1);
