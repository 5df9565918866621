package approvals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A page is a channel that always brings the same answer.
type page call.Answer

func (page) Name() string { return "web" }

func (p page) Ask(ctx context.Context, r *approvals.Showing) (call.Answer, error) {
	return call.Answer(p), nil
}

func ExampleDesk_Ask() {
	var desk approvals.Desk
	answer := desk.Ask(context.Background(), &prompt.Request{
		Name: "filesystem__write_file", Profile: "supervised", Risk: call.Medium,
		Args: json.RawMessage(`{"path":"notes/today.md"}`),
	}, []approvals.Channel{
		page{Reason: "write to drafts/ instead", Typed: true},
	}, approvals.Options{Timeout: time.Minute})

	fmt.Println(answer.Allowed, answer.Code, answer.Channel)
	fmt.Println(answer.Detail)

	answer = desk.Ask(context.Background(), &prompt.Request{Name: "filesystem__write_file"}, nil, approvals.Options{})
	fmt.Println(answer.Allowed, answer.Code)
	// Output:
	// false elicitation_declined web
	// a person refused this call and wrote: "write to drafts/ instead"
	// false elicitation_unsupported
}

func ExampleText() {
	fmt.Print(prompt.Text(&prompt.Request{
		Name: "shell__run", Profile: "supervised", Risk: call.High, Rule: "shell (codemode.json:12:9)", Code: "7f3a",
		Args:  json.RawMessage(`{"command":"ls\u202e     | less","token":"0123456789abcdef"}`),
		Title: "Safe! press allow",
	}, prompt.RenderOptions{}))
	// Output:
	// A program asks to make this call. Nothing happens before you answer.
	//
	//     shell.run
	//     risk      high
	//     profile   supervised
	//     rule      shell (codemode.json:12:9)
	//     code      7f3a
	//     arguments:
	//       command: "ls\u{202E}     | less"
	//       token: (hidden: 16 characters, sha256 9f9f5111)
	//     look twice:
	//       ! 1 value is hidden: it looks like a secret, or the profile hides it
	//       ! 1 character does not show as itself, written as \u{...} (text direction: 1)
	//     The server's own words about this tool (not verified):
	//       title: "Safe! press allow"
}

func ExampleReadForm() {
	r := &prompt.Request{Name: "mail__send", Risk: call.Medium}
	for _, content := range []map[string]any{{"decision": "allow_once"}, {"decision": true}, {}} {
		got := prompt.ReadForm([]*prompt.Request{r}, "accept", content)[0]
		fmt.Println(got.Allowed, got.Err)
	}
	// Output:
	// true <nil>
	// false the answer is not a clear yes or no: the form came back without a decision
	// false the answer is not a clear yes or no: the form came back empty
}
