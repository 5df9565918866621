package analysis

// A binding is a variable, a parameter, a function or a class of the program.
type binding struct {
	init     *node // what it was given last
	declared int   // how many functions declare it
	writes   int   // how often it is given a value
	unknown  bool  // it is a parameter, a loop variable, a function, ...
	reads    int   // uses of a member of the object it holds
	other    int   // uses that may change that object, or lose sight of it

	facts any // what the reader of the tree notes; the resolver leaves it alone
}

// value returns the one value that the binding ever has, nil if that cannot be known.
func (b *binding) value() *node {
	if b.unknown || b.writes != 1 {
		return nil
	}
	return b.init
}

// frozen says whether the members of the object it holds stay as they were written.
func (b *binding) frozen() bool { return b.other == 0 }

// whole says whether the object it holds stays as it was written, down to the
// objects inside.
func (b *binding) whole() bool { return b.other == 0 && b.reads == 0 }

// usedOnce says whether the name of a function is used in one place.
func (b *binding) usedOnce() bool { return b.other == 1 && b.reads == 0 }
