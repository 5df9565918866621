// State of a run that was stopped inside a native loop: planted here. The next run must not see it.
globalThis.planted = 'x';
Object.prototype.planted = 'y';
return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 1, 0);
