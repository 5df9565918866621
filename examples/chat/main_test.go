package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// A chat is a service that a test starts and stops, with the conversations in one folder.
type chat struct {
	t      *testing.T
	record string
	shop   *shop
	site   string
	stop   func()
}

func start(t *testing.T) *chat {
	t.Helper()
	c := &chat{t: t, record: t.TempDir(), shop: &shop{}, stop: func() {}}
	c.restart()
	t.Cleanup(func() { c.stop() })
	return c
}

// restart ends the service, and starts another one on the same folder.
func (c *chat) restart() {
	c.t.Helper()
	c.stop()
	server := httptest.NewUnstartedServer(nil)
	s, err := newService(c.t.Context(), server.Listener.Addr().String(), c.record,
		filepath.Join(os.TempDir(), "codemode-example-test"), script{}, c.shop, map[string]string{"anna": "a", "ben": "b"})
	if err != nil {
		c.t.Fatal(err)
	}
	server.Config.Handler = s
	server.Start()
	c.site, c.stop = server.URL, func() {
		server.Close()
		if err := s.codemode.Close(c.t.Context()); err != nil && c.t.Context().Err() == nil {
			c.t.Error(err)
		}
	}
}

// send sends a body as a user whose password is the first letter of the name.
func (c *chat) send(method, name, body string, headers ...string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.site, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.SetBasicAuth(name, name[:1])
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Error(err)
	}
	return resp.StatusCode, string(text)
}

// says sends a message, checks that the reply begins with want, and returns the conversation.
func (c *chat) says(name, conversation, message, want string) string {
	c.t.Helper()
	body, err := json.Marshal(said{Conversation: conversation, Message: message})
	if err != nil {
		c.t.Fatal(err)
	}
	status, text := c.send("POST", name, string(body))
	var out said
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || !strings.HasPrefix(out.Reply, want) ||
		out.Conversation == "" || conversation != "" && out.Conversation != conversation {
		c.t.Errorf("%s says %q and gets %d %s; want %q", name, message, status, text, want)
	}
	return out.Conversation
}

// Two conversations of one user and one of another one have nothing in common, also if somebody knows the conversation.
func TestConversationsAreApart(t *testing.T) {
	c := start(t)
	first := c.says("anna", "", "add tea", "On the list: tea.")
	second := c.says("anna", "", "add milk", "On the list: milk.")
	third := c.says("ben", "", "list", "On the list: nothing.")
	c.says("anna", first, "add coffee", "On the list: tea, coffee.")
	c.says("anna", second, "list", "On the list: milk.")
	c.says("ben", third, "add bread", "On the list: bread.")
	c.says("anna", first, "total", "That costs 900 cents.")
	// In a conversation of ben's own, which has nothing declared.
	if id := c.says("ben", first, "list", ""); id != first {
		t.Errorf("ben is in %s", id)
	}
	if _, text := c.send("POST", "ben", `{"conversation": "`+first+`", "message": "list"}`); strings.Contains(text,
		"tea") ||
		!strings.Contains(text, "show") { // nothing declares it
		t.Errorf("ben reads %s", text)
	}
	c.says("anna", first, "list", "On the list: tea, coffee.")
}

// A conversation goes on after a restart, with what was declared before it.
func TestTheServerRestarts(t *testing.T) {
	c := start(t)
	id := c.says("anna", "", "add tea", "On the list: tea.")
	c.restart()
	c.says("anna", id, "add milk", "On the list: tea, milk.")
	c.restart()
	c.says("anna", id, "total", "That costs 700 cents.")
	c.says("ben", "", "list", "On the list: nothing.")
}

// Of two messages at once, the second one is answered after the first. Other conversations do not wait for it.
func TestTwoMessagesAtOnce(t *testing.T) {
	c := start(t)
	id := c.says("anna", "", "list", "On the list: nothing.")
	other := c.says("anna", "", "list", "On the list: nothing.")
	var mu sync.Mutex
	var asked []string
	goOn := make(chan struct{})
	c.shop.asked = func(item string) {
		mu.Lock()
		asked = append(asked, item)
		mu.Unlock()
		if item == "slow" {
			<-goOn
		}
	}
	var both sync.WaitGroup
	both.Go(func() { c.says("anna", id, "add slow", "On the list: slow.") })
	testwait.Until(t, "the first message asks for a price", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(asked) == 1
	})
	both.Go(func() { c.says("anna", id, "add fast", "On the list: slow, fast.") })
	c.says("anna", other, "add tea", "On the list: tea.") // meanwhile
	close(goOn)
	both.Wait()
	if want := []string{"slow", "tea", "fast"}; !slices.Equal(asked, want) {
		t.Errorf("the shop was asked for %v, want %v", asked, want)
	}
}

// What people write is a text for the program, and no program.
func TestMessagesAreNoCode(t *testing.T) {
	c := start(t)
	const hostile = "`); list.set('x', 1); //</script>\u202e${total()}"
	id := c.says("anna", "", "add "+hostile, "On the list: "+hostile+".")
	c.says("anna", id, "list", "On the list: "+hostile+".")
	c.says("anna", id, "return 1", `Say "add ITEM"`)
}

func TestRequestsThatAreRefused(t *testing.T) {
	c := start(t)
	const message = `{"message": "list"}`
	for _, row := range []struct {
		why, method, body, header string
		want                      int
	}{
		{"as it should be", "POST", message, "X: y", 200},
		{"another name of this machine", "POST", message, "Host: evil.example", 421},
		{"without a password", "POST", message, "Authorization: ", 401},
		{"with another password", "POST", message, "Authorization: Basic YW5uYTpi", 401},
		{"as nobody", "POST", message, "Authorization: Basic Og==", 401},
		{"a form of another site", "POST", message, "Content-Type: text/plain", 415},
		{"a link", "GET", "", "X: y", 415},
		{"no message", "POST", `{}`, "X: y", 400},
		{"a conversation that is a path", "POST", `{"conversation": "../x", "message": "list"}`, "X: y", 400},
		{"a long message", "POST", fmt.Sprintf(`{"message": "%*d"}`, longestMessage, 1), "X: y", 400},
	} {
		if status, text := c.send(row.method, "anna", row.body, row.header); status != row.want {
			t.Errorf("%s: %d %s", row.why, status, text)
		}
	}
}
