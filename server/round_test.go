package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/server"
)

// fills answers every required field of a form with what choose says about its title.
func fills(choose func(title string) string) person {
	return func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		js, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, err
		}
		var schema struct {
			Required   []string
			Properties map[string]struct{ Title string }
		}
		if err := json.Unmarshal(js, &schema); err != nil {
			return nil, err
		}
		content := map[string]any{}
		for _, name := range schema.Required {
			content[name] = choose(schema.Properties[name].Title)
		}
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	}
}

// C1, C2, N1: two questions that follow one another are two forms, five of one moment are one, on three versions of the
// protocol and over both transports; the answers may differ.
func TestC2FiveQuestionsOfOneMomentAreOneForm(t *testing.T) {
	const program = `
		const attempt = async path => { try { await codemode.filesystem__write_file({path, content: "x"}); return "ok" } catch (e) { return e.reason } };
		const first = await attempt("a1.md"), second = await attempt("a2.md");
		return [first, second, ...await Promise.all(["b1.md", "b2.md", "b3.md", "b4.md", "b5.md"].map(attempt))].join(" ");`
	answer := fills(func(title string) string {
		if strings.HasPrefix(title, "Call 6:") {
			return "deny"
		}
		return "allow_once"
	})
	check := func(t *testing.T, h *house, c *client) {
		t.Helper()
		text, failed := c.eval("codemode_eval_p", program)
		if failed || !strings.HasPrefix(below(text), `"ok ok ok ok ok elicitation_declined ok"`) {
			t.Errorf("got\n%s", text)
		}
		asked := c.questions()
		if len(asked) != 3 {
			t.Fatalf("%d forms, want 3:\n%s", len(asked), strings.Join(asked, "\n"))
		}
		if !strings.Contains(asked[2], "A program asks to make 5 calls.") ||
			!strings.Contains(asked[2], "calls 3 to 7: filesystem.write_file") {
			t.Errorf("got\n%s", asked[2])
		}
		written := slices.DeleteFunc([]string{"a1.md", "a2.md", "b1.md", "b2.md", "b3.md", "b4.md", "b5.md"},
			func(name string) bool { return !h.holds(name) })
		if len(written) != 6 || slices.Contains(written, "b4.md") {
			// Which of the five is call 6 of the run depends on nothing but their order in the program.
			t.Errorf("written: %v", written)
		}
	}
	const config = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]}}}}`
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h := open(t, config, server.Options{})
			check(t, h, h.connect(answer, version))
		})
		t.Run(version+" over HTTP", func(t *testing.T) {
			h := open(t, config, server.Options{})
			c := h.connectHTTPOn(h.listen(), answer, version)
			if got := c.InitializeResult().ProtocolVersion; got != version {
				t.Fatalf("the protocol is %s", got)
			}
			check(t, h, c)
		})
	}
}

// A form about twelve calls has one decision for them and takes exceptions, in both generations of the protocol: what
// is named is refused, the rest is done. A list that names no call of the form is asked for again, and then allows none.
func TestAFormOfTwelveCallsTakesExceptions(t *testing.T) {
	const program = `
		const attempt = async i => { try { await codemode.filesystem__write_file({path: i + ".md", content: "x"}); return "ok" } catch (e) { return "no" } };
		return (await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(attempt))).join(" ");`
	const config = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]}}}}`
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for list, want := range map[string]string{
			"3, 7-9": "ok ok no ok ok ok no no no ok ok ok",
			"":       "ok ok ok ok ok ok ok ok ok ok ok ok",
			"13":     "no no no no no no no no no no no no",
		} {
			t.Run(version+" "+list, func(t *testing.T) {
				h := open(t, config, server.Options{})
				c := h.connect(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision_1": "allow_once", "refuse": list}},
						nil
				}, version)
				if text, failed := c.eval("codemode_eval_p", program); failed || !strings.HasPrefix(below(text), `"`+want+`"`) {
					t.Errorf("got\n%s", text)
				}
				for i, word := range strings.Fields(want) {
					if name := strconv.Itoa(i+1) + ".md"; h.holds(name) != (word == "ok") {
						t.Errorf("%s is written: %t, and the program was told %q", name, h.holds(name), word)
					}
				}
				forms := 1
				if list == "13" { // it is shown once more
					forms = 2
				}
				if asked := c.questions(); len(asked) != forms || !strings.Contains(asked[0], `: path: "12.md"`) {
					t.Errorf("%d forms:\n%s", len(asked), strings.Join(asked, "\n"))
				}
			})
		}
	}
}
