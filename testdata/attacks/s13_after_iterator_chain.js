// The run after a chain of natives has a guest that computes. Value.
return [1, 2, 3].values().map(x => x * 2).toArray().join();
