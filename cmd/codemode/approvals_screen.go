package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/visible"
)

// A screen is what codemode approvals shows, and what the keys do. It is a queue of questions, of which one is chosen, by its
// ID: whatever comes and goes, the choice stays where it is, and an answer is to what was read.
type approvalsScreen struct {
	width, height int
	links         map[*link]bool
	told          []waiting // by every process; several may tell of one question
	waiting       []waiting // each question once
	chosen        string    // ID
	scroll        int       // lines of the preview that are above its top
	whole         map[string]string
	read          map[string]bool // questions whose last line was on the screen
	light         bool            // the background is

	mode   mode
	answer int          // of those that are open
	ticked map[int]bool // of the options of a program's question
	typed  string       // a reason, a code or an answer
	since  time.Time
	notice string

	leave bool      // when it has been alone for leaveAfter
	alone time.Time // since when no process is connected

	now func() time.Time
}

// leaveAfter is how long a screen that was opened by itself stays when nobody asks any more.
const leaveAfter = 20 * time.Second

// A mode says what the keys do.
type mode int

const (
	choosing  mode = iota // a question
	answering             // it, from a list
	reasoning             // why it is refused
	coding                // the code that a yes needs
	writing               // an answer to a program's question
)

// settle is how long keys are not looked at after what they would act upon has changed: they were meant for what was there.
const settle = 400 * time.Millisecond

// wholeText is further down than any question goes.
const wholeText = 1 << 20

// A waiting is a question and where it comes from.
type waiting struct {
	approvals.Asked
	from *link
}

func newScreen() *approvalsScreen {
	return &approvalsScreen{width: 80, height: 24, links: map[*link]bool{}, whole: map[string]string{}, read: map[string]bool{}, ticked: map[int]bool{}, now: time.Now}
}

func (s *approvalsScreen) Init() tea.Cmd { return tea.Batch(tick(), tea.RequestBackgroundColor) }

type tickMsg struct{}

// tick lets the ages of questions be shown anew.
func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} }) }

func (s *approvalsScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		switch {
		case len(s.links) > 0:
			s.alone = time.Time{}
		case s.alone.IsZero():
			s.alone = s.now()
		case s.leave && s.now().Sub(s.alone) >= leaveAfter:
			return s, tea.Quit
		}
		return s, tick()
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
		for l := range s.links {
			s.say(l, approvals.Said{Kind: "width", Width: s.width - 1})
		}
	case toldMsg:
		before := len(s.waiting)
		s.take(msg.from, msg.told)
		if len(s.waiting) > before {
			return s, tea.Raw("\a") // a multiplexer marks the window
		}
	case tea.BackgroundColorMsg:
		s.light = !msg.IsDark()
	case goneMsg:
		delete(s.links, msg.from)
		s.replace(msg.from, nil)
	case problemMsg:
		s.notice = visible.Line(msg.text)
	case editedMsg:
		s.edited(msg)
	case tea.KeyPressMsg:
		return s, s.key(msg)
	}
	return s, nil
}

func (s *approvalsScreen) take(from *link, t *approvals.Told) {
	switch t.Kind {
	case "hello":
		s.links[from] = true
		s.say(from, approvals.Said{Kind: "width", Width: s.width - 1})
	case "pending":
		s.replace(from, t.Calls)
	case "shown":
		if t.Error != "" {
			s.notice = visible.Line(t.Error)
		} else {
			s.whole[t.ID] = visible.Text(t.Text)
			s.scroll = 0
		}
	case "answered":
		if t.Error != "" {
			s.notice = "Not taken: " + visible.Line(t.Error)
		}
	}
}

// replace takes in what waits at a process now.
func (s *approvalsScreen) replace(from *link, calls []approvals.Asked) {
	s.told = slices.DeleteFunc(s.told, func(w waiting) bool { return w.from == from })
	for _, c := range calls {
		s.told = append(s.told, waiting{c, from})
	}
	s.waiting = nil
	for _, w := range s.told {
		if !slices.ContainsFunc(s.waiting, func(x waiting) bool { return x.ID == w.ID }) {
			s.waiting = append(s.waiting, w)
		}
	}
	slices.SortStableFunc(s.waiting, func(a, b waiting) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	if s.index() >= 0 {
		return
	}
	if s.chosen != "" && s.mode != choosing {
		s.notice = "That question is answered, or its time is over."
	}
	delete(s.whole, s.chosen)
	delete(s.read, s.chosen)
	s.chosen = ""
	clear(s.ticked)
	if len(s.waiting) > 0 {
		s.chosen = s.waiting[0].ID
	}
	s.enter(choosing)
	s.scroll = 0
}

// index is that of the chosen question, -1 if there is none.
func (s *approvalsScreen) index() int {
	return slices.IndexFunc(s.waiting, func(w waiting) bool { return w.ID == s.chosen })
}

func (s *approvalsScreen) enter(m mode) {
	s.mode, s.typed, s.since = m, "", s.now()
	if m == answering {
		s.answer = 0 // a refusal
	}
}

func (s *approvalsScreen) say(to *link, said approvals.Said) {
	if err := to.say(said); err != nil {
		s.notice = "Not sent: " + visible.Line(err.Error())
	}
}

// key acts on a key.
func (s *approvalsScreen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" || name == "q" && s.mode == choosing {
		return tea.Quit
	}
	i := s.index()
	if i < 0 || s.now().Sub(s.since) < settle {
		return nil
	}
	w := s.waiting[i]
	s.notice = ""
	switch name {
	case "pgdown":
		s.scroll += max(s.height/3, 1)
		return nil
	case "pgup":
		s.scroll = max(s.scroll-max(s.height/3, 1), 0)
		return nil
	}
	switch s.mode {
	case choosing:
		s.choose(name, i)
	case answering:
		return s.pick(name, w)
	case reasoning, coding, writing:
		s.typing(k, w)
	}
	return nil
}

func (s *approvalsScreen) choose(key string, i int) {
	switch key {
	case "up", "k":
		i = max(i-1, 0)
	case "down", "j":
		i = min(i+1, len(s.waiting)-1)
	case "s":
		s.say(s.waiting[i].from, approvals.Said{Kind: "show", ID: s.chosen})
	case "enter":
		s.enter(answering)
	}
	if id := s.waiting[i].ID; id != s.chosen {
		s.chosen, s.scroll = id, 0
		clear(s.ticked)
	}
}

// An option is one of the answers to a question.
type option struct {
	text string
	kind string // deny, reason, allow or edit; of a program's question decline, choose, tick, write or send
	approvals.Offer
	n int // of the option of a program's question
}

func (s *approvalsScreen) options(w waiting) []option {
	if w.Inquiry != nil {
		return s.replies(w.Inquiry)
	}
	all := []option{{text: "Refuse", kind: "deny"}, {text: "Refuse, and say why", kind: "reason"}}
	for _, o := range w.Offers {
		all = append(all, option{text: visible.Line(o.Text), kind: "allow", Offer: o})
	}
	if len(w.Args) > 0 {
		all = append(all, option{text: "Change the arguments, and allow those", kind: "edit"})
	}
	return all
}

func (s *approvalsScreen) pick(key string, w waiting) tea.Cmd {
	all := s.options(w)
	switch key {
	case "up", "k":
		s.answer = max(s.answer-1, 0)
	case "down", "j":
		s.answer = min(s.answer+1, len(all)-1)
	case "esc":
		s.enter(choosing)
	case "s":
		s.say(w.from, approvals.Said{Kind: "show", ID: w.ID})
	case "enter":
		switch o := all[min(s.answer, len(all)-1)]; o.kind {
		case "deny":
			s.send(w, approvals.Said{})
		case "reason":
			s.enter(reasoning)
		case "edit":
			return edit(w)
		case "allow":
			if w.Unseen && s.whole[w.ID] == "" {
				s.say(w.from, approvals.Said{Kind: "show", ID: w.ID})
				s.notice = "A call of this risk has to be seen whole: here it is. Read it, and choose again."
				s.since = s.now()
				return nil
			}
			if o.Scope == approvals.ForPlan && !s.read[w.ID] {
				s.scroll, s.since = wholeText, s.now()
				s.notice = "A plan has to be read before it is allowed: page up and down, and choose again."
				return nil
			}
			if w.Code != "" {
				s.enter(coding)
				return nil
			}
			s.send(w, approvals.Said{Yes: true, Scope: o.Scope})
		default:
			s.reply(w, o)
		}
	case "space":
		if o := all[min(s.answer, len(all)-1)]; o.kind == "tick" {
			s.reply(w, o)
		}
	}
	return nil
}

// typing takes a reason or a code, letter by letter.
func (s *approvalsScreen) typing(k tea.KeyPressMsg, w waiting) {
	switch name := k.String(); name {
	case "esc":
		s.enter(answering)
	case "backspace":
		if r := []rune(s.typed); len(r) > 0 {
			s.typed = string(r[:len(r)-1])
		}
	case "enter":
		switch s.mode {
		case reasoning:
			s.send(w, approvals.Said{Reason: s.typed})
			return
		case writing:
			s.wrote(w)
			return
		}
		if s.typed != w.Code {
			s.notice = "That is not the code of this question."
			s.typed = ""
			return
		}
		s.send(w, approvals.Said{Yes: true, Code: s.typed, Scope: s.options(w)[s.answer].Scope})
	default:
		most := approvals.MaxWords
		if s.mode == writing {
			most = approvals.MaxAnswer
		}
		if text := k.Key().Text; text != "" && len([]rune(s.typed)) < most {
			s.typed += text
		}
	}
}

// send answers a question, and goes on with the next one.
func (s *approvalsScreen) send(w waiting, said approvals.Said) {
	said.Kind, said.ID, said.Digest = "answer", w.ID, w.Digest
	s.say(w.from, said)
	clear(s.ticked)
	s.enter(choosing)
}

type editedMsg struct {
	id   string
	args []byte
	err  error
}

func (s *approvalsScreen) edited(m editedMsg) {
	i := slices.IndexFunc(s.waiting, func(w waiting) bool { return w.ID == m.id })
	switch {
	case m.err != nil:
		s.notice = "Not changed: " + visible.Line(m.err.Error())
	case i < 0:
		s.notice = "That question is answered, or its time is over."
	case !json.Valid(m.args):
		s.notice = "Not taken: what was written is not JSON."
	default:
		s.send(s.waiting[i], approvals.Said{Yes: true, Args: m.args, Code: s.waiting[i].Code})
	}
	s.since = s.now()
}

func age(since, now time.Time) string {
	return fmt.Sprint(max(now.Sub(since), 0).Truncate(time.Second))
}
