// A lone closing brace. Syntax error.
}
