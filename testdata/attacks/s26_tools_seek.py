# The tools of this run are its own. Value.
return [await codemode.echo('real'), hasattr(codemode, 'planted')]
