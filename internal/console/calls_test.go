package console

import (
	"encoding/json"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/internal/console/accounts"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A row of the page of calls, in one line.
func rowsOf(page string) (rows []string) {
	for _, row := range regexp.MustCompile(`(?s)<tr class="[^"]*" data-entry.*?</tr>`).FindAllString(page, -1) {
		text := regexp.MustCompile(`<time.*?</time>|<[^>]*>`).ReplaceAllString(row, " ")
		rows = append(rows, strings.Join(strings.Fields(text), " "))
	}
	return rows
}

// Each call is one row with what became of it, on one page; the record has its entries.
func TestOneRowForACall(t *testing.T) {
	w := newWorld(t)
	history(w)
	v := w.login(anna)
	want := []string{
		`fs.delete_file for local:anna r_1a2b3c call 3 refused high risk a rule path: &#34;/data/report.txt&#34; ` +
			`the rules deny it fs_delete_* is on the denylist`,
		`github.create_issue for local:anna r_1a2b3c call 2 done local:anna over web owner: &#34;acme&#34;, ` +
			`repo: &#34;web&#34;, title: &#34;Fix the download link&#34;`,
		`github.list_issues for local:anna r_1a2b3c call 1 done low risk a rule owner: &#34;acme&#34;, repo: &#34;web&#34;`,
	}
	if got := rowsOf(v.get("/history").body); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for ended, n := range map[string]int{"": 3, "done": 2, "refused": 1, "failed": 0} {
		if got := rowsOf(v.get("/history?ended=" + ended).body); len(got) != n {
			t.Errorf("ended=%s shows %d calls, want %d: %s", ended, len(got), n, got)
		}
	}
	if got := rowsOf(v.get("/history?tool=fs__delete_file").body); len(got) != 1 {
		t.Errorf("one tool has %d rows", len(got))
	}
	if got := len(rowsOf(v.get("/records/runs").body)); got != 9 {
		t.Errorf("the record shows %d entries, want 9", got)
	}
	if got := rowsOf(w.login("ben").get("/history").body); len(got) != 0 {
		t.Errorf("ben sees %s", got)
	}
}

// Calls whose entries are on several pages of the record are on one page of calls, whatever comes meanwhile.
func TestACallIsOnOnePage(t *testing.T) {
	w := newWorld(t)
	add := func(n int, state string) {
		if err := w.record.note(t.Context(), call.Entry{Kind: audit.Call, State: state, Run: "r_1", Call: n,
			Principal: anna, Tool: "fs__write"}); err != nil {
			t.Fatal(err)
		}
	}
	const calls = 100
	for i := range calls {
		add(i+1, audit.Pending)
	}
	for i := range calls {
		add(i+1, audit.Running)
		if i%2 == 0 {
			add(i+1, audit.OK)
		}
	}
	v := w.login(anna)
	seen, pages := map[string]int{}, 0
	for path := "/history"; path != ""; pages++ {
		page := v.get(path).body
		for _, row := range rowsOf(page) {
			seen[row]++
		}
		path = ""
		if _, rest, more := strings.Cut(page, `href="`+v.path+`/history?`); more {
			older, _, _ := strings.Cut(rest, `"`)
			path = "/history?" + strings.ReplaceAll(older, "&amp;", "&")
			add(200+pages, audit.Refused) // behind the first page
		}
	}
	for i := range calls {
		state := "sent"
		if i%2 == 0 {
			state = "done"
		}
		if row := fmt.Sprintf("fs.write for local:anna r_1 call %d %s", i+1, state); seen[row] != 1 {
			t.Errorf("%q is there %d times", row, seen[row])
		}
	}
	if len(seen) != calls || pages < 3 {
		t.Errorf("%d rows on %d pages, want %d on several", len(seen), pages, calls)
	}
}

// A call that ended before anybody decided it was decided by nobody, and the reason says why.
func TestWhatNobodyDecidedSaysSo(t *testing.T) {
	w := newWorld(t)
	for i, reason := range []string{"canceled", "bad_arguments"} {
		if err := w.record.note(t.Context(), call.Entry{Kind: audit.Call, State: audit.Refused, Run: "r_1", Call: i + 1,
			Principal: anna, Tool: "fs__write", Reason: reason, DecidedBy: &call.DecidedBy{How: "error"}}); err != nil {
			t.Fatal(err)
		}
	}
	v := w.login(anna)
	for _, path := range []string{"/history", "/records/runs", "/run/r_1"} {
		page := v.get(path).body
		if strings.Contains(page, "an error") || strings.Count(page, ">nobody<") < 2 ||
			!strings.Contains(page, "the question was closed, or the program ended") {
			t.Errorf("%s says\n%s", path, page)
		}
	}
}

// everyPart gives a page all its parts.
func everyPart() []func(*Options) {
	return []func(*Options){func(o *Options) {
		o.Runs, o.Servers, o.Accounts = &fakeRuns{}, someServers(), anyAccounts{}
		o.Admin = func(string) bool { return true }
	}}
}

type anyAccounts struct{ accounts.Upstreams }

func (anyAccounts) Any() bool { return true }

// On a usual screen the arguments of a call have room, however long the other columns are, and on a phone the
// navigation is short.
func TestTheCallsAreReadableOnEveryScreen(t *testing.T) {
	t.Parallel()
	w, _ := worldOfSessions(t, everyPart()...)
	history(w)
	long := call.Entry{Kind: audit.Call, State: audit.Unknown, Run: "r_2", Call: 12, Risk: "critical",
		Principal: "oidc:https://accounts.example.com/realms/staff#" + strings.Repeat("0123456789", 4),
		Tool:      "github__add_a_label_to_an_issue_of_a_repository_of_an_organisation",
		DecidedBy: &call.DecidedBy{How: "person", Channel: "elicitation", Principal: "someone.with.a.long.name@example.com"},
		Args: &call.EntryArgs{Redacted: json.RawMessage(`{"owner":"acme","title":"` + strings.Repeat("all of this ",
			30) + `"}`)}}
	if err := w.record.note(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(strings.Replace(w.c.Link("root"), "127.0.0.1", "localhost", 1)))
	b.Until("the page is there", `document.querySelector("#pending") !== null`)
	at := b.Text(`location.origin + document.body.dataset.base`)
	for _, page := range []string{"/history", "/records/runs", "/run/r_2"} {
		b.Do("look", chromedp.Navigate(at+page))
		b.Until("it has details", `[...document.querySelectorAll("details")].every((d) => d.open = true)`)
		for width, least := range map[int64]int{1280: 330, 1100: 280, 768: 180, 390: 200} {
			b.Size(width, 900)
			b.Until(fmt.Sprintf("%s at %d has room for arguments", page, width), fmt.Sprintf(`(() => {
				const cells = [...document.querySelectorAll("td[data-label=Arguments]")].filter((c) => c.textContent);
				const room = (c) => { const s = getComputedStyle(c); return c.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight); };
				return cells.length > 0 && cells.every((c) => room(c) >= %d) && document.documentElement.scrollWidth <= innerWidth;
			})()`, least))
			lines := 1
			if width < 1100 {
				lines = 2
			}
			b.Until(fmt.Sprintf("%s at %d has a short navigation", page, width), fmt.Sprintf(`(() => {
				const links = [...document.querySelectorAll(".bar nav a")];
				return links.length === 9 && new Set(links.map((a) => a.offsetTop)).size <= %d &&
					document.querySelector(".bar").offsetHeight <= 120;
			})()`, lines))
			b.Shot(fmt.Sprintf("calls-%s-%d", strings.Split(page, "/")[1], width))
		}
	}
}
