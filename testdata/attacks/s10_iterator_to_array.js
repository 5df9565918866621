// An endless iterator turned into an array. Memory.
return Array.from((function* () { for (;;) yield {}; })()).length;
