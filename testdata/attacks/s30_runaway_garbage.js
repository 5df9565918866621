// A runaway that makes garbage all the time, so that its collector runs as well. Ends; others keep running.
for (;;) { const a = []; for (let i = 0; i < 1000; i++) a.push({ i, a }); }
