package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// inquire puts a program's question, and reads until there is an answer to it.
func (t *terminal) inquire(ctx context.Context, r *prompt.Request) (prompt.Reply, error) {
	o := prompt.RenderOptions{Width: t.width, Color: t.options.Color}
	shown := prompt.Render(r, o)
	if err := t.print("\n" + shown.Text); err != nil {
		return prompt.Reply{}, err
	}
	for unclear := 0; unclear < maxUnclear; {
		line, err := t.typedLine(ctx, inquiryPrompt(r.Inquiry, shown.Cut))
		if err != nil {
			return prompt.Reply{}, err
		}
		hint := ""
		switch line {
		case "":
			hint = "Please type an answer."
		case "decline":
			return prompt.Reply{Decision: prompt.Refuse, Typed: true}, nil
		case "show":
			o.Full = true
			shown = prompt.Render(r, o)
			if err := t.print("\n" + shown.Text); err != nil {
				return prompt.Reply{}, err
			}
			continue
		default:
			reply := typedAnswer(r.Inquiry, line)
			if err := r.Inquiry.CheckReply(&reply); err == nil {
				return reply, nil
			}
			hint = "Please type " + wanted(r.Inquiry) + "."
		}
		unclear++
		if err := t.print(hint + "\n"); err != nil {
			return prompt.Reply{}, err
		}
	}
	return prompt.Reply{}, prompt.ErrUnclear
}

func inquiryPrompt(q *prompt.Inquiry, cut bool) string {
	more := ""
	if cut {
		more = ", show to see all of it"
	}
	return fmt.Sprintf("Type %s, decline to give none%s: ", wanted(q), more)
}

// wanted says what is to be typed.
func wanted(q *prompt.Inquiry) string {
	switch {
	case len(q.Options) == 0:
		return "your answer"
	case q.Multiple && q.FreeText:
		return "the numbers of your answers, or an answer of your own"
	case q.Multiple:
		return "the numbers of your answers"
	case q.FreeText:
		return "the number of your answer, or one of your own"
	}
	return "the number of your answer"
}

// typedAnswer reads a line: numbers of options, the label of one, or words.
func typedAnswer(q *prompt.Inquiry, line string) prompt.Reply {
	reply := prompt.Reply{Decision: prompt.AllowOnce, Typed: true}
	for i, o := range q.Options {
		if strings.EqualFold(strings.TrimSpace(o.Label), line) {
			reply.Selected = []int{i}
			return reply
		}
	}
	if len(q.Options) > 0 {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == ',' }) {
			n, err := strconv.Atoi(strings.TrimSuffix(word, "."))
			if err != nil || n < 1 || n > len(q.Options) {
				reply.Selected = nil
				break
			}
			reply.Selected = append(reply.Selected, n-1)
		}
	}
	if len(reply.Selected) == 0 {
		reply.Text = line
	}
	return reply
}
