// State of a run that used up its memory: planted here. The next run must not see it.
globalThis.planted = 'x';
const a = [];
for (;;) a.push(new Array(1000).fill('planted'));
