// State of a run that was denied a call: nothing of what the run before planted is here. Value.
return [typeof planted, await codemode.echo('after')];
