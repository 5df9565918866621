// State of a run that was stopped inside a native loop: nothing of what the run before planted is here. Value.
return [typeof globalThis.planted, 'planted' in {}];
