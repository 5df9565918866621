// The run after a stop knows nothing of it. Value.
return [typeof stopped, [1, 2, 3].reverse().join()];
