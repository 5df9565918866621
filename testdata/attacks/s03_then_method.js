// A looping then method runs as a job; the job fails and the next one starts. The outer stop ends it.
const t = { then() { for (;;); } };
for (;;) { try { await t; } catch (e) { } }
