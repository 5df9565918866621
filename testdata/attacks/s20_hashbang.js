// A hashbang in the middle is no comment. Syntax error.
#!/usr/bin/env node
return 1;
