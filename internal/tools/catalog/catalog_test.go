package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

func TestCanonicalNames(t *testing.T) {
	for _, row := range []struct{ server, raw, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"my-server", "get-env", "my_server__get_env"},
		{"a", "files/read.text", "a__files_read_text"},
		{"a", "naïve", "a__naïve"},
		{"weather", "获取天气", "weather__获取天气"},
		{"a", "x\u200by", "a__x_y"},
		{"a", "$x", "a__$x"},
		{"1password", "2fa", "1password__2fa"},
		{"a", "line\nbreak", "a__line_break"},
		{"a", "a\xffb", "a__a_b"},
	} {
		if got := call.Name(row.server, row.raw); got != row.want {
			t.Errorf("call.Name(%q, %q) = %q, want %q", row.server, row.raw, got, row.want)
		}
	}
}

// tools makes tools of their names.
func tools(raw ...string) []catalog.Tool {
	var out []catalog.Tool
	for _, r := range raw {
		out = append(out, catalog.Tool{Raw: r})
	}
	return out
}

func names(c *catalog.Catalog) string {
	var out []string
	for _, t := range c.Tools() {
		out = append(out, t.Name)
	}
	return strings.Join(out, " ")
}

func codes(problems []catalog.Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%s %s", p.Tool, p.Code))
	}
	return strings.Join(out, ", ")
}

// Of one server they get suffixes; servers with equal names are an error of the configuration.
func TestNamesThatBecomeEqual(t *testing.T) {
	for _, row := range []struct {
		name     string
		fill     func(c *catalog.Catalog) []catalog.Problem // returns those of the last step
		names    string
		problems string
	}{
		{"within a server", func(c *catalog.Catalog) []catalog.Problem {
			return c.Replace("fs", tools("delete-file", "delete_file", "read"))
		}, "fs__delete_file fs__delete_file_e459421d fs__read", ""},
		{"three of them", func(c *catalog.Catalog) []catalog.Problem { return c.Replace("a", tools("x-y", "x_y", "x.y")) },
			"a__x_y a__x_y_c7a1d976 a__x_y_f3ae7388", ""},
		{"names that only look the same", func(c *catalog.Catalog) []catalog.Problem {
			return c.Replace("a", tools("send", "s\u0435nd"))
		}, "a__send a__s\u0435nd", "s\u0435nd look_alike"},
		{"names in letters of one script", func(c *catalog.Catalog) []catalog.Problem {
			return c.Replace("a", tools("café", "cafe", "日本", "Σ", "σ"))
		}, "a__cafe a__café a__Σ a__σ a__日本", ""},
		{"the same name twice", func(c *catalog.Catalog) []catalog.Problem { return c.Replace("a", tools("x", "x")) }, "",
			"x name_collision, x name_collision"},
		{"between servers with underscores at the seam", func(c *catalog.Catalog) []catalog.Problem {
			c.Replace("a", tools("_b", "c"))
			return c.Replace("a_", tools("b", "c"))
		}, "a___c a__c", "b name_collision"},
		{"servers whose names become equal", func(c *catalog.Catalog) []catalog.Problem {
			c.Replace("my-server", tools("x"))
			return c.Replace("my_server", tools("y"))
		}, "", "y name_collision"},
		{"a server with the separator in its name", func(c *catalog.Catalog) []catalog.Problem {
			return c.Replace("a__b",
				tools("c"))
		}, "", " bad_name"},
		{"one that gets it from its other characters", func(c *catalog.Catalog) []catalog.Problem {
			return c.Replace("a--b",
				tools("c"))
		}, "", " bad_name"},
		{"a separator in a tool's name is fine", func(c *catalog.Catalog) []catalog.Problem {
			return c.Replace("a",
				tools("b__c"))
		}, "a__b__c", ""},
		{"a server without a name", func(c *catalog.Catalog) []catalog.Problem { return c.Replace("", tools("c")) }, "",
			" bad_name"},
		{"a tool without a name", func(c *catalog.Catalog) []catalog.Problem { return c.Replace("a", tools("", "b")) },
			"a__b", " bad_name"},
		{"removing one gives back the other", func(c *catalog.Catalog) []catalog.Problem {
			c.Replace("my-server", tools("x"))
			c.Replace("my_server", tools("y"))
			c.Remove("my-server")
			return nil
		}, "my_server__y", ""},
		{"a shorter list takes tools away", func(c *catalog.Catalog) []catalog.Problem {
			c.Replace("a", tools("x", "y"))
			return c.Replace("a", tools("y"))
		}, "a__y", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := catalog.New()
			problems := row.fill(c)
			if got := names(c); got != row.names {
				t.Errorf("tools: got %q, want %q", got, row.names)
			}
			if got := codes(problems); got != row.problems {
				t.Errorf("problems: got %q, want %q", got, row.problems)
			}
		})
	}
}

func TestFind(t *testing.T) {
	c := catalog.New()
	c.Replace("github", tools("create_issue", "get_issue", "x-y", "x_y"))
	c.Replace("gitlab", tools("create_issue"))
	tool, err := c.Find("github__create_issue")
	if err != nil || tool.Server != "github" || tool.Raw != "create_issue" {
		t.Errorf("got %v, %v", tool, err)
	}
	var withheld *catalog.WithheldError
	c.Replace("a.b", []catalog.Tool{{Raw: "x", Withheld: "it is no good"}, {Raw: "y-z"}})
	for _, name := range []string{"a_b__x", "a.b__x"} {
		if _, err := c.Find(name); !errors.As(err, &withheld) || !c.Has(name) ||
			!strings.HasSuffix(err.Error(), "is withheld, because it is no good") {
			t.Errorf("a withheld tool: got %v", err)
		}
	}
	if len(c.Withheld()) != 1 {
		t.Errorf("Withheld: got %v", c.Withheld())
	}
	for _, row := range []struct{ name, nearest string }{
		{"github__create_isue", "github__create_issue gitlab__create_issue github__get_issue"},
		{"github__creat_eissue", "github__create_issue gitlab__create_issue github__get_issue"},
		{"create_issue", "github__create_issue gitlab__create_issue"},
		{"bitbucket__create_issue", "github__create_issue gitlab__create_issue"},
		{"github__Create_Issue", "github__create_issue gitlab__create_issue github__get_issue"},
		{"github.create_issue", "github__create_issue gitlab__create_issue github__get_issue"},
		{"github__issue", "github__get_issue github__create_issue gitlab__create_issue"},
		{"weather__now", ""},
		{"", ""},
		{"then", ""},
		{"\x00", ""},
		{strings.Repeat("github__create_issue", 1000), ""},
		// the last letter is Cyrillic
		{"github__create_issuе", "github__create_issue gitlab__create_issue github__get_issue"},
		{"github__x.y", "github__x_y github__x_y_c7a1d976"},
	} {
		_, err := c.Find(row.name)
		var missing *catalog.NotFoundError
		if !errors.As(err, &missing) {
			t.Errorf("Find(%.40q): got %v, want that it is not found", row.name, err)
			continue
		}
		if got := strings.Join(missing.Nearest, " "); got != row.nearest {
			t.Errorf("Find(%.40q): nearest are %q, want %q", row.name, got, row.nearest)
		}
	}
}

func TestDigestsFollowTheDefinition(t *testing.T) {
	digest := func(tool catalog.Tool) string {
		c := catalog.New()
		c.Replace("s", []catalog.Tool{tool})
		return c.Tools()[0].Digest
	}
	base := catalog.Tool{Raw: "t", Description: "d",
		Input: json.RawMessage(`{"type":"object","properties":{"a":{"const":9007199254740993}}}`)}
	want := digest(base)
	same := base
	same.Input = json.RawMessage(` { "properties": {"a":{"const":9007199254740993}}, "type":"object" }`)
	if got := digest(same); got != want {
		t.Error("white space and the order of keys change the digest")
	}
	for name, change := range map[string]func(*catalog.Tool){
		"name":        func(t *catalog.Tool) { t.Raw = "u" },
		"title":       func(t *catalog.Tool) { t.Title = "T" },
		"description": func(t *catalog.Tool) { t.Description = "d." },
		"input": func(t *catalog.Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"a":{"const":9007199254740992}}}`)
		},
		"output":        func(t *catalog.Tool) { t.Output = json.RawMessage(`{"type":"object"}`) },
		"annotations":   func(t *catalog.Tool) { t.Annotations = json.RawMessage(`{"readOnlyHint":true}`) },
		"broken schema": func(t *catalog.Tool) { t.Input = json.RawMessage(`{`) },
	} {
		other := base
		change(&other)
		if digest(other) == want {
			t.Errorf("another %s keeps the digest", name)
		}
	}
}

func TestReadersNeverSeeHalfAList(t *testing.T) {
	c := catalog.New()
	lists := [][]catalog.Tool{tools("a", "b", "c"), tools("d", "e", "f")}
	c.Replace("s", lists[0])
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 500 {
			c.Replace("s", lists[i%2])
		}
		close(stop)
	})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := names(c); got != "s__a s__b s__c" && got != "s__d s__e s__f" {
					t.Errorf("a mixture: %s", got)
					return
				}
				c.Search("a", 3, nil)
				for _, tool := range c.Tools() {
					if err := tool.Validate(t.Context(), call.Unread(json.RawMessage(`{}`))); err != nil {
						t.Error(err)
					}
				}
				catalog.Declarations(c.Tools())
			}
		})
	}
	wg.Wait()
}

// A program that runs while a server's list is taken in does not wait for it.
func TestReadersDoNotWaitForANewList(t *testing.T) {
	c := crowd(t, 500)
	defer c.Busy()()
	read := make(chan error, 1)
	go func() {
		tool, err := c.Find("git0__git_commit")
		if err == nil {
			err = tool.Validate(t.Context(), call.Unread(json.RawMessage(`{"message":"x"}`)))
		}
		if len(c.Search("commit", 5, nil)) != 5 || len(c.Tools()) != 500 {
			err = errors.Join(err, errors.New("not all is there"))
		}
		catalog.Declarations(c.Tools()[:5])
		c.Learn("sqlite0__read_query", "", json.RawMessage(`1`))
		c.Withheld()
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("reading waits for writing")
	}
}
