package sandbox

import (
	"context"
	"errors"
)

// Park waits until the run is quiescent: until the Host has returned [ErrLater] for every open call. Then it removes
// the run from its guest and returns it as bytes, for [Engine.Resume] in this process or another. From then on
// [Run.Settle] accepts no answer: answers go to the resumed run. Park does not park a run that ends first: then the
// error says so, and [Run.Wait] has the result.
//
// The image holds the program's data in the form that it has in memory. [Options.ParkKey] authenticates it; it is not
// encrypted.
func (r *Run) Park(ctx context.Context) ([]byte, error) {
	r.mu.Lock()
	if r.park == nil {
		r.park = &parking{}
	}
	p := r.park
	p.wanted++
	r.mu.Unlock()
	r.notify()
	select {
	case <-r.done:
	case <-ctx.Done():
		r.mu.Lock()
		p.wanted--
		ended := r.ended
		r.mu.Unlock()
		if !ended {
			return nil, context.Cause(ctx)
		}
		<-r.done // too late to cancel: an image exists, or will exist
	}
	if p.image == nil && p.err == nil {
		return nil, errors.New("sandbox: the run ended before it could be parked")
	}
	return p.image, p.err
}

// Resume continues a parked run of this engine, or of one with the same guest and the same [Options.ParkKey]. It does
// not perform the open calls again: their answers come through [Run.Settle], and [Run.Open] has their names and
// arguments. Later calls go to h. Of p it takes Lookup, Watch and Watching; the image holds the rest of the program.
func (e *Engine) Resume(ctx context.Context, image []byte, p Program, h Host) (*Run, error) {
	return e.resume(ctx, image, Program{Lookup: p.Lookup, Watch: p.Watch, Watching: p.Watching}, nil, h)
}

// resume is Resume, of a program of a session if that is not nil. p has what an image cannot hold.
func (e *Engine) resume(ctx context.Context, image []byte, p Program, s *Session, h Host) (*Run, error) {
	header, pages, err := e.openImage(image)
	if err == nil {
		err = s.awaits(header)
	}
	if err != nil {
		return nil, err
	}
	need := int64(guestCost + header.Memory - e.snapshot.Size)
	for _, c := range header.Open {
		need += int64(len(c.Args))
	}
	for _, a := range header.Answers {
		need += int64(len(a.Value))
	}
	if err := e.admit(ctx, header.Owner, need); err != nil {
		return nil, err
	}
	g, err := e.get(ctx, header.Limits.Memory)
	if err == nil {
		err = e.readPages(g, header.Memory, pages)
	}
	if err != nil {
		if g != nil {
			g.waste = true
			e.put(g)
		}
		e.memory.Release(header.Owner, need)
		return nil, err
	}
	p.Deterministic = header.Deterministic
	p.Source, p.Name, p.Owner, p.Limits, p.number = header.Source, header.Name, header.Owner, header.Limits, header.Number
	r := newRun(ctx, e, g, p, header.Limits, h, need)
	r.begun, r.session = true, s
	r.printed = g.shared.uint32(sharedConsoleLen)
	r.cpu = header.CPU
	r.wall.started -= header.Wall
	g.clock = tick(g.clock - header.Clock)
	r.calls, r.earlier = header.Calls, header.Calls
	for _, c := range header.Open {
		r.open = append(r.open, &Call{ID: c.ID, Name: c.Name, Args: c.Args, run: r})
		r.memory.held += len(c.Args)
	}
	for _, a := range header.Answers {
		r.answers = append(r.answers, a.answer())
		r.memory.held += len(a.Value)
	}
	r.elapsed = header.Elapsed
	r.steps.begin(g, header.Steps)
	return behind(r, nil)
}

// Earlier is how many calls the run had made when it was parked last, or 0.
func (r *Run) Earlier() int { return r.earlier }
