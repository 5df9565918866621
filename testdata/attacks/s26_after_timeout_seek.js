// State of a run that was stopped: nothing of what the run before planted is here. Value.
return [typeof planted, 'planted' in []];
