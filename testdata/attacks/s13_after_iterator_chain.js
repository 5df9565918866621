// The run after a chain of natives has a guest that computes. Value.
const it = [1, 2, 3].values();
return it.map ? it.map(x => x * 2).toArray().join() : [...it].map(x => x * 2).join();
