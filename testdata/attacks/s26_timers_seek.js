// Timers left running: nothing of what the run before planted is here. Value.
await codemode.slow({ ms: 30 });
return typeof ticked;
