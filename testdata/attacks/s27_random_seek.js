// The run after has no memory of the draws before it. Value.
return [typeof drawn, Math.random() !== Math.random()];
