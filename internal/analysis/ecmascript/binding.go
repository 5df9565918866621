package ecmascript

// A Binding is a variable, a parameter, a function or a class of the program.
type Binding struct {
	Declared int // the number of functions that declare it
	Writes   int // the number of places that assign it
	Facts    any // for code that walks the tree; this package leaves it nil

	init    *Node // the value of the last of these places
	unknown bool  // it is a parameter, a loop variable, a function, ...
	reads   int   // uses of a member of the object it holds
	other   int   // uses that may change that object, or pass it on
}

// Value returns the expression of the only value that the binding ever has. Nil means unknown.
func (b *Binding) Value() *Node {
	if b.unknown || b.Writes != 1 {
		return nil
	}
	return b.init
}

// Frozen reports whether the members of the object it holds never change.
func (b *Binding) Frozen() bool { return b.other == 0 }

// Whole reports whether the object it holds never changes, including all objects inside.
func (b *Binding) Whole() bool { return b.other == 0 && b.reads == 0 }

// UsedOnce reports whether its name is used in one place, as the name of a function.
func (b *Binding) UsedOnce() bool { return b.other == 1 && b.reads == 0 }
