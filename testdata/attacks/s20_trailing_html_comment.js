// An HTML-like comment at the end (annex B): a comment in scripts, or refused. Value.
return 2 <!-- the end
