// Draws are taken here; the next run must not repeat or continue them. Value.
globalThis.drawn = [Math.random(), Math.random()];
return drawn.length;
