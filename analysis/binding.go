package analysis

// A binding is a variable, a parameter, a function or a class of the program.
type binding struct {
	init    *node // the one value it ever has, if it can be known
	unknown bool  // it is a parameter, a loop variable, a function, ...
	writes  int   // how often it is given a value
	reads   int   // uses of a member of the object it holds
	other   int   // uses that may change that object, or lose sight of it

	declared int   // how many functions declare it
	body     *node // the function it holds, if that is looked at where it is used: there is one use

	asked    bool // value and text are worked out, or just being
	worked   abstractValue
	known    string
	isText   bool
	reported bool // a use of it was reported
}

// constant says whether the binding has one value.
func (b *binding) constant() bool { return !b.unknown && b.writes == 1 }

// frozen says whether the members of the object it holds stay as they were written.
func (b *binding) frozen() bool { return b.other == 0 }

// whole says whether the object it holds stays as it was written, down to the
// objects inside.
func (b *binding) whole() bool { return b.other == 0 && b.reads == 0 }

// usedOnce says whether the name of a function is used in one place.
func (b *binding) usedOnce() bool { return b.other == 1 && b.reads == 0 }

// text returns the text it is known to hold.
func (b *binding) text() (string, bool) {
	b.work()
	return b.known, b.isText
}

// work finds out what the binding holds, once; a binding that refers to
// itself holds nothing known.
func (b *binding) work() {
	if b.asked {
		return
	}
	b.asked = true
	if b.constant() && b.init != nil {
		b.known, b.isText = constant(b.init)
		if b.init.op == opNumber {
			b.isText = false // a number, not a text, unless it is a key
		}
		b.worked = glance(b.init)
	}
}
