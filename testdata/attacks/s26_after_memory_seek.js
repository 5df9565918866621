// State of a run that used up its memory: nothing of what the run before planted is here. Value.
return typeof planted;
