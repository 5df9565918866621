// No return at all: null. Value.
const x = 1;
