// Timers left running: planted here. The next run must not see it.
setInterval(() => { globalThis.ticked = (globalThis.ticked || 0) + 1; }, 1);
setTimeout(() => { globalThis.ticked = 'once'; }, 5);
return 'left';
