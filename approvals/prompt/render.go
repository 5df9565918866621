package prompt

import "time"

// Text is the text about r that a person sees, over every channel.
func Text(r *Request, o RenderOptions) string { return Render(r, o).Text() }

// Render makes the View of r.
func Render(r *Request, o RenderOptions) View { return RenderAll([]*Request{r}, o) }

// RenderAll makes the View of calls that are asked about together, as one question.
func RenderAll(calls []*Request, o RenderOptions) View {
	v := withoutPlan(calls, o)
	if len(calls) > 0 && calls[0].Inquiry == nil && planOf(calls, time.Now()) != nil {
		q := newQuestion(calls[0], o, limits{}, nil)
		v.Plan = q.plan()
		v.note(&q.seen)
	}
	return v
}
