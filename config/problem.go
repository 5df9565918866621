package config

import "github.com/codemode-project/codemode/internal/settings"

// Problems of a configuration file, with their places.
type (
	// A Position is a place in a configuration file.
	Position = settings.Position
	// A Problem is something wrong at one place.
	Problem = settings.Problem
	// Problems is everything wrong with a file, in the order of the file. [Parse] and [Load] return it as the error for
	// an invalid file.
	Problems = settings.Problems
)
