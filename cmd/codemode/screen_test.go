package main

import "github.com/codemode-project/codemode/internal/testwait"

// A screen is what a command prints, read while it is printed.
type screen = testwait.Buffer
