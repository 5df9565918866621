// Command chat is a chat server. Its model answers a message with a program, and each conversation is a session: a
// program goes on with the variables and functions of the programs before it, also after a restart of the server.
//
//	go run ./examples/chat [-listen 127.0.0.1:8823] [-record DIR]
//
// It prints the names and passwords of two users, and how to say something.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

//go:embed rules.json
var rules []byte

const (
	mostAtOnce     = 4       // messages of one user that are answered, or wait, at the same time
	longestMessage = 4 << 10 // bytes of a request
)

// A model answers a message with a program, which gets the rest of the message as its input. Many goroutines may call
// it. A real one gets more: the descriptions of the tools, and what was said before.
type model interface {
	Program(ctx context.Context, message string, first bool) (code, input string, err error)
}

// script is a model that keeps a shopping list, for want of a real one.
type script struct{}

// begin declares what the later programs of a conversation use.
const begin = `
	const list = new Map()
	const add = async item => {
		const { cents } = await codemode.shop.price({ item })
		list.set(item, cents)
		return show()
	}
	const show = () => [...list.keys()].join(", ") || "nothing"
	const total = () => [...list.values()].reduce((sum, cents) => sum + cents, 0)
`

func (script) Program(_ context.Context, message string, first bool) (code, input string, err error) {
	if first {
		code = begin
	}
	switch verb, item, _ := strings.Cut(strings.TrimSpace(message), " "); {
	case verb == "add" && item != "":
		return code + "return `On the list: ${await add(input)}.`", item, nil
	case verb == "list":
		return code + "return `On the list: ${show()}.`", "", nil
	case verb == "total":
		return code + "return `That costs ${total()} cents.`", "", nil
	}
	return code + "return 'Say \"add ITEM\", \"list\" or \"total\".'", "", nil
}

// A shop is the tool that programs call.
type shop struct {
	asked func(item string) // for tests; may be nil
}

type (
	item struct {
		Item string `json:"item"`
	}
	price struct {
		Cents int `json:"cents"`
	}
)

func (s *shop) price(_ context.Context, in item) (price, error) {
	if s.asked != nil {
		s.asked(in.Item)
	}
	return price{100 * len(in.Item)}, nil
}

// A service has users, each with a password, and answers their messages.
type service struct {
	codemode *codemode.Evaluator
	model    model
	host     string // where clients find it
	users    map[string]*user
}

type user struct {
	password string
	messages chan struct{} // holds a place for each that is being answered
}

// newService makes a service that stores its conversations in the folder record.
func newService(ctx context.Context, host, record, cache string, m model, s *shop, passwords map[string]string) (
	*service, error) {
	cfg, err := config.Parse("rules.json", rules)
	if err != nil {
		return nil, err
	}
	all := &service{model: m, host: host, users: map[string]*user{}}
	for name, password := range passwords {
		all.users[name] = &user{password, make(chan struct{}, mostAtOnce)}
	}
	all.codemode, err = codemode.New(ctx, codemode.Options{
		Config: cfg, RecordDir: record, CacheDir: cache,
		Servers: []codemode.Server{{Name: "shop", Functions: []codemode.Function{
			codemode.Func("price", "The price of an item.", s.price, codemode.ReadOnly),
		}}},
	})
	return all, err
}

// said is a message, and the reply to it. Without a conversation, a message begins one.
type said struct {
	Conversation string `json:"conversation,omitempty"`
	Message      string `json:"message,omitempty"`
	Reply        string `json:"reply,omitempty"`
}

// conversationID is the form of what newID returns.
var conversationID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func newID() string { return rand.Text() }

// ServeHTTP answers a message. Nothing but JSON is taken, which no page of another site can send.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, password, _ := r.BasicAuth() // a service has its own login in this place
	u := s.users[name]
	var in said
	switch {
	case r.Host != s.host: // a name of somebody else's that leads to this machine
		http.Error(w, "this is "+s.host, http.StatusMisdirectedRequest)
		return
	case u == nil || subtle.ConstantTimeCompare([]byte(u.password), []byte(password)) != 1:
		w.Header().Set("WWW-Authenticate", `Basic realm="chat"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	case r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json":
		http.Error(w, "POST a message in JSON", http.StatusUnsupportedMediaType)
		return
	case json.NewDecoder(http.MaxBytesReader(w, r.Body, longestMessage)).Decode(&in) != nil || in.Message == "" ||
		in.Conversation != "" && !conversationID.MatchString(in.Conversation):
		http.Error(w, `send {"conversation": "...", "message": "..."}`, http.StatusBadRequest)
		return
	}
	select {
	case u.messages <- struct{}{}:
		defer func() { <-u.messages }()
	default:
		http.Error(w, "too many of your messages wait for an answer", http.StatusTooManyRequests)
		return
	}
	reply, err := s.answer(r.Context(), name, in)
	if err != nil {
		log.Print(err)
		http.Error(w, "there is no answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // the client is gone
}

// answer runs the model's program in the session of the conversation. Sessions belong to their principal: what another
// user sends with the same conversation is in a session of that user.
func (s *service) answer(ctx context.Context, name string, in said) (*said, error) {
	out := &said{Conversation: cmp.Or(in.Conversation, newID())}
	code, input, err := s.model.Program(ctx, in.Message, in.Conversation == "")
	if err != nil {
		return nil, err
	}
	words, err := json.Marshal(input) // what people write is data of the program, and no code
	if err != nil {
		return nil, err
	}
	reply, response, err := codemode.Eval[string](ctx, s.codemode, codemode.Request{
		Profile: "chat", Code: code, Input: words, Principal: name,
		Session: "chat-" + out.Conversation, SessionWait: true, // one message after the other
	})
	if out.Reply = reply; err != nil {
		out.Reply = response.Text(err) // a real model would read this, and try again
	}
	return out, nil
}

// serve serves until ctx ends.
func serve(ctx context.Context, listen, record string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s: passwords travel in the clear, so only this machine may connect", listen),
			l.Close())
	}
	passwords := map[string]string{"anna": rand.Text(), "ben": rand.Text()}
	s, err := newService(ctx, l.Addr().String(), record, filepath.Join(record, "cache"), script{}, &shop{}, passwords)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	for name, password := range passwords {
		fmt.Printf("curl -u %s:%s -H 'Content-Type: application/json' -d '{\"message\": \"add tea\"}' http://%s/\n", name,
			password, s.host)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.codemode.Close(context.WithoutCancel(ctx)))
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8823", "the address of the service, on this machine")
	record := flag.String("record", "chat-record", "the folder of the conversations")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := os.MkdirAll(*record, 0o700)
	if err == nil {
		err = serve(ctx, *listen, *record)
	}
	if err != nil {
		log.Fatal(err)
	}
}
