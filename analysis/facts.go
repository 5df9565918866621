package analysis

import "github.com/codemode-project/codemode/internal/analysis/ecmascript"

// facts are what the walker knows of a binding.
type facts struct {
	body     *ecmascript.Node // the function it holds, if the walker reads that at its only use
	reported bool             // a use of it was reported

	asked  bool // value and text are known, or being computed
	value  abstractValue
	text   string
	isText bool
}

// factsOf returns the facts of a binding.
func factsOf(b *ecmascript.Binding) *facts {
	f, ok := b.Facts.(*facts)
	if !ok {
		f = &facts{}
		b.Facts = f
	}
	return f
}

// evaluated returns the facts of a binding with its value and text. A binding that refers to itself has no known value.
func evaluated(b *ecmascript.Binding) *facts {
	f := factsOf(b)
	if f.asked {
		return f
	}
	f.asked = true
	if v := b.Value(); v != nil {
		f.text, f.isText = constant(v)
		f.isText = f.isText && v.Op != ecmascript.OpNumber // which is text only where it is a key
		f.value = glance(v)
	}
	return f
}
