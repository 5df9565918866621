package prompt

import "slices"

// RenderOptions fit a question to the place that shows it. They change its layout. What is escaped, cut and masked
// stays the same, except for the options that say so.
type RenderOptions struct {
	Width    int  // columns; 0 is 96, less than 40 is 40
	Color    bool // ANSI colours on our words, never on data
	Markdown bool // every line with data is part of a code block, and links, mentions, tags and fences in data are escaped
	Full     bool // nothing is cut
	Reveal   bool // nothing is masked
	// Listed says that [Rows] stand beside the text. What they say of similar calls is left out of it, unless a row is
	// cut or has remarks.
	Listed bool
}

// A Rendering is a question as a person sees it.
type Rendering struct {
	Text   string
	Cut    bool // something is left out; the text says how much, and how to identify the whole
	Masked int  // values, or parts of them, that are not shown because they look like secrets
	// Complete says that a person saw all there is to judge: nothing is cut, and nothing masked is longer than secrets
	// are. Without it nobody can approve a call of high risk.
	Complete bool
	// Arguments is the part of Text that shows the arguments, for pages that set it apart; "" for an Inquiry.
	Arguments string
}

const (
	defaultWidth = 96
	leastWidth   = 40
	margin       = 4 // makes the lines an indented code block where Markdown is rendered
	labels       = 10
	maxName      = 96
	maxClaim     = 300 // of the upstream's words
	maxCalls     = 20  // lines of the preview
)

// Text is the text about r that a person sees, over every channel.
func Text(r *Request, o RenderOptions) string { return Render(r, o).Text }

// Render shows r. Whatever r contains, the result consists of visible characters, plain spaces, line ends and, with
// Color, our own escape sequences.
func Render(r *Request, o RenderOptions) Rendering {
	if r.Inquiry != nil {
		return renderInquiry(r, o)
	}
	if r.Ahead {
		return renderAhead(r, o)
	}
	tries, masks := budgets(r, o), newMasker(r.Display, o.Reveal)
	for i, l := range tries {
		q := newQuestion(r, o, l, masks)
		if lines := q.arguments(); lines > l.lines && i < len(tries)-1 {
			continue
		}
		return q.finish()
	}
	panic("no budget")
}

// budgets are the limits to try, the most generous first.
func budgets(r *Request, o RenderOptions) []limits {
	if o.Full {
		return []limits{whole}
	}
	var all []limits
	d := r.Display
	for _, l := range fitting {
		l.text = narrow(l.text, d.String)
		l.items = narrow(l.items, d.Items)
		l.depth = narrow(l.depth, d.Depth)
		all = append(all, l)
	}
	if r.Risk.Grave() {
		all = slices.Insert(all, 0, ample)
	}
	return all
}

func narrow(limit, to int) int {
	if to > 0 {
		return min(limit, to)
	}
	return limit
}
