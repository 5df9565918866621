package responder

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

func (s *screen) Init() tea.Cmd { return tea.Batch(tick(), tea.RequestBackgroundColor) }

type tickMsg struct{}

// tick updates the ages of questions.
func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} }) }

func (s *screen) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
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
		s.resize(msg.Width, msg.Height)
	case toldMsg:
		before := len(s.inbox.waiting)
		s.take(msg.from, msg.told)
		if len(s.inbox.waiting) > before {
			return s, tea.Raw("\a") // lets a multiplexer mark the window
		}
	case tea.BackgroundColorMsg:
		s.light = !msg.IsDark()
	case goneMsg:
		delete(s.links, msg.from)
		s.replace(msg.from, &terminal.Told{})
	case problemMsg:
		s.notice = visible.Line(msg.text)
	case editedMsg:
		s.takeDraft(msg)
	case tea.PasteMsg:
		return s, s.paste(msg)
	case tea.KeyPressMsg:
		return s, s.key(msg)
	default:
		if s.mode == editing { // the cursor blinks
			s.editor, cmd = s.editor.Update(msg)
		}
	}
	return s, cmd
}

func (s *screen) resize(width, height int) {
	s.width, s.height, s.reader.width = width, height, width
	for l := range s.links {
		s.say(l, terminal.Said{Kind: "width", Width: s.width - 1})
	}
	for _, it := range s.list.items {
		if s.reader.whole[it.id] != nil {
			s.show(it)
		}
	}
	if s.mode == editing {
		s.sizeEditor()
	}
}

func (s *screen) take(from *link, t *terminal.Told) {
	switch t.Kind {
	case "hello":
		s.links[from] = true
		s.say(from, terminal.Said{Kind: "width", Width: s.width - 1})
	case "pending":
		s.replace(from, t)
	case "shown":
		same := func(w waiting, id string) bool { return w.ID == id }
		if i := s.list.place(t.ID); t.Error != "" {
			s.notice = visible.Line(t.Error)
		} else if i >= 0 && slices.EqualFunc(s.list.items[i].calls, t.IDs, same) { // else the batch has changed meanwhile
			s.reader.whole[t.ID] = &t.View
		}
	case "answered":
		s.outcomes.answered(t)
		if t.Error != "" {
			s.notice = "Not accepted: " + visible.Line(t.Error)
			s.back(t.ID)
		}
	case "outcome":
		s.outcomes.note(t.ID, state{text: visible.Line(t.Text)})
	}
}

// replace replaces the questions of a process.
func (s *screen) replace(from *link, t *terminal.Told) {
	s.inbox.replace(from, t)
	before := s.list.items
	s.list.items = s.inbox.items()
	s.forget(before)
	s.follow(before)
}

// forget deletes the state of items that do not exist any more, and what was shown of a batch with other calls.
func (s *screen) forget(before []item) {
	for _, it := range before {
		i := s.list.place(it.id)
		if i < 0 || !s.list.items[i].holds(it) {
			delete(s.reader.whole, it.id)
		}
		if i < 0 {
			delete(s.reader.read, it.id)
			delete(s.form.drafts, it.id)
			delete(s.list.marked, it.id)
			delete(s.outcomes.sent, it.id)
		}
	}
}

// follow keeps the choice, or chooses the next item if the chosen one does not exist any more.
func (s *screen) follow(before []item) {
	if i := s.list.index(); i >= 0 {
		switch batch := s.list.items[i].in; {
		case s.mode != choosing && !s.list.items[i].holds(s.form.asked):
			s.notice = "The calls of this batch have changed. Look again."
			s.enter(choosing)
		case s.mode == choosing && !s.list.byHand && batch != "": // the first of its calls came before the batch
			s.list.chosen, s.reader.scroll, s.since = batch, 0, s.now()
		}
		return
	}
	if s.list.chosen != "" && s.mode != choosing {
		s.notice = "That question was answered, or its time is over."
	}
	clear(s.form.ticked)
	s.list.next(before)
	s.enter(choosing)
	s.reader.scroll = 0
}
