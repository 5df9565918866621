// State of a run that threw: nothing of what the run before planted is here. Value.
return [typeof planted, JSON.stringify(1)];
