package terminal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A programQuestion is a question of a program.
type programQuestion struct{ *prompt.Request }

func (q programQuestion) label(hint string) string {
	if q.Kind() == "account" {
		return "Type decline to refuse, or open the page to connect the account: "
	}
	return fmt.Sprintf("Type %s, decline to give none%s: ", wanted(q.Inquiry), hint)
}

func (q programQuestion) read(line string, _ *prompt.View) (answer call.Answer, hint string, err error) {
	switch line {
	case "":
		return answer, "Please type an answer.", nil
	case "decline":
		return answer, "", nil
	}
	answer = typedAnswer(q.Inquiry, line)
	if q.Inquiry.CheckAnswer(&answer) != nil {
		hint = "Please type " + wanted(q.Inquiry) + "."
	}
	return answer, hint, nil
}

// wanted says what to type.
func wanted(q *prompt.Inquiry) string {
	switch {
	case q.Connect != "":
		return "decline, or connect the account on the page"
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

// typedAnswer parses a line: numbers of options, the label of one, or words.
func typedAnswer(q *prompt.Inquiry, line string) call.Answer {
	answer := call.Answer{Allowed: true}
	for i, o := range q.Options {
		if strings.EqualFold(strings.TrimSpace(o.Label), line) {
			answer.Selected = []int{i}
			return answer
		}
	}
	if len(q.Options) > 0 {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == ',' }) {
			n, err := strconv.Atoi(strings.TrimSuffix(word, "."))
			if err != nil || n < 1 || n > len(q.Options) {
				answer.Selected = nil
				break
			}
			answer.Selected = append(answer.Selected, n-1)
		}
	}
	if len(answer.Selected) == 0 {
		answer.Text = line
	}
	return answer
}
