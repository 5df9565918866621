// Timers of an hour. Memory.
for (;;) setTimeout(() => {}, 3600000);
