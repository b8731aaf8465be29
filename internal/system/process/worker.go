package process

import (
	"context"
	"sync"
	"sync/atomic"
)

// worker is a place for one process of the program: the one that lives, and the
// next one when that has ended.
type worker struct {
	client   *Client
	load     atomic.Int32  // calls that have this worker
	alone    sync.RWMutex  // held for writing by a call that must be the only one
	starting chan struct{} // holds a token while a process is started

	mu   sync.Mutex
	live *proc
	past sync.WaitGroup // processes that get no call any more and have not ended yet
}

// begin registers a call with a living process.
func (w *worker) begin(ctx context.Context, call *call) (*proc, error) {
	for {
		p, err := w.current(ctx)
		if err != nil {
			return nil, err
		}
		if p.begin(call) {
			return p, nil
		}
		if p.isShut() { // one that ends as soon as it is started is not started faster than it ends
			select {
			case <-p.gone:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// current returns the living process, and starts one when there is none. A
// program that cannot be started ends the run.
func (w *worker) current(ctx context.Context) (*proc, error) {
	if p, err := w.living(); p != nil || err != nil {
		return p, err
	}
	select {
	case w.starting <- struct{}{}:
		defer func() { <-w.starting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p, err := w.living(); p != nil || err != nil { // another call has started it
		return p, err
	}
	p, err := launch(w.client)
	if err != nil {
		return nil, w.client.die(err)
	}
	if err := p.greet(ctx); err != nil {
		p.stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, w.client.die(err)
	}
	if err := w.client.same(p.said); err != nil {
		p.stop()
		return nil, w.client.die(err)
	}
	w.mu.Lock()
	w.live = p
	w.mu.Unlock()
	if err := w.client.gone(); err != nil { // closed meanwhile
		p.stop()
		return nil, err
	}
	return p, nil
}

// living returns the process that takes calls; nil when there is none.
func (w *worker) living() (*proc, error) {
	if err := w.client.gone(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != nil && !w.live.takesCalls() {
		old := w.live
		w.live = nil
		w.past.Go(func() { <-old.gone })
	}
	return w.live, nil
}

// close ends what lives, and waits for what is ending.
func (w *worker) close() {
	w.starting <- struct{}{} // whoever is starting a process is done
	defer func() { <-w.starting }()
	w.mu.Lock()
	p := w.live
	w.mu.Unlock()
	if p != nil {
		p.stop()
	}
	w.past.Wait()
}
