// State of a run that was stopped: planted here. The next run must not see it.
globalThis.planted = 'x';
Array.prototype.planted = 'y';
for (;;);
